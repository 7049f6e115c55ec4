"""The requests for a summary, as refold's records keep them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from eventstore.event import Event
from eventstore.formats.pi.entry import usage_view
from eventstore.javascript import tolerant_json
from eventstore.views import Usage
from projections.settings import Model

_ASK_NO_MODEL: Final = frozenset({"extractive", "recorded"})


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was answered, or paid for: by which model and with what usage, None where the record does not say.

    `is_free`: its summarizer asks no model.
    """

    model: Model | None
    usage: Usage | None
    is_free: bool


def asked(event: Event) -> list[Asked]:
    """The paid requests for an event's summary, none where its record keeps none.

    A record's `request` is one, or has a list of them in `requests`. Each has its `summarizer`, the
    `provider` and `model` that answered, and a `usage` with `input`, `output`, `cacheRead`, `cacheWrite`; one
    that failed has an `error`, and was paid for if it has a usage.
    """
    found = [(each, _asked(each)) for each in _requests(event)]
    return [request for each, request in found if "error" not in each or request.usage is not None]


class AskedBy(msgspec.Struct, frozen=True, kw_only=True):
    """The templates of the requests for a summary, each once, in order; `missing` are the sections that it lacks."""

    templates: tuple[str, ...]
    missing: list[str]


def asked_by(event: Event) -> AskedBy | None:
    """By which templates an event's summary was asked for; None where its record does not name them.

    The sections are those that the templates asked for when they were used, as `missingSections` of the
    record's `request` has them.
    """
    named = (request.get("template") for request in _requests(event))
    templates = tuple(dict.fromkeys(name for name in named if isinstance(name, str)))
    if not templates:
        return None
    missing = tolerant_json(event.body)["request"].get("missingSections")
    listed = missing if isinstance(missing, list) else []
    return AskedBy(templates=templates, missing=[each for each in listed if isinstance(each, str)])


def _requests(event: Event) -> list[dict[str, Any]]:
    request = tolerant_json(event.body).get("request")
    if not isinstance(request, dict) or not request:
        return []
    made = request.get("requests")
    listed = made if isinstance(made, list) else [request]
    return [each for each in listed if isinstance(each, dict)]


def _asked(request: dict[str, Any]) -> Asked:
    usage = usage_view(request.get("usage"))
    model = request.get("model")
    return Asked(
        model=Model(provider=request.get("provider"), model_id=model) if isinstance(model, str) else None,
        usage=usage if usage and usage.total else None,
        is_free=str(request.get("summarizer")) in _ASK_NO_MODEL,
    )
