"""Build an API request from a context, and check what the API would refuse.

Everything that sends or shows a request goes through here, so that none goes unchecked. To add an API: a
folder with a renderer and a validator, a line for each here, tests and docs. The two import nothing from each
other: each is a second opinion on the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Unpack

import msgspec

from eventstore.errors import NotFoundError
from projections.context.parts import Context
from projections.requests.anthropic.renderer import render as render_for_anthropic
from projections.requests.anthropic.validator import validate as validate_anthropic
from projections.requests.protocol import Renderer, Repair, RequestOptions, Violation

Validator = Callable[[bytes | dict[str, Any]], list[Violation]]
"""Takes a body, as JSON or decoded; returns what its API would refuse it for, or nothing."""

VALIDATORS: Final[dict[str, Validator]] = {"anthropic": validate_anthropic}


def validator_named(name: str) -> Validator:
    """Return the validator of an API's requests. Raises NotFoundError."""
    if name not in VALIDATORS:
        raise NotFoundError("validator", name, f"choose from: {', '.join(sorted(VALIDATORS))}")
    return VALIDATORS[name]


RENDERERS: Final[dict[str, Renderer]] = {"anthropic": render_for_anthropic}


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of a request's body, the repairs made for it, and the violations that remain."""

    body: bytes
    repairs: tuple[Repair, ...]
    violations: tuple[Violation, ...]


def request(context: Context, api: str = "anthropic", **options: Unpack[RequestOptions]) -> Request:
    """Return a context as a checked API request: the same context gives the same bytes.

    What no repair can fix becomes a violation: a context without messages or without a model; options that
    the API does not accept. Raises NotFoundError for an unknown API, and BadInputError if the tools are not a
    JSON list of objects.
    """
    if api not in RENDERERS:
        raise NotFoundError("renderer", api, f"choose from: {', '.join(sorted(RENDERERS))}")
    rendered = RENDERERS[api](context, **options)
    violations = validator_named(api)(rendered.body)
    return Request(body=rendered.body, repairs=rendered.repairs, violations=tuple(violations))
