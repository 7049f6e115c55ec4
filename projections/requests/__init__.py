"""A context as a request to an API, and what the API would refuse it for.

What sends or shows a request asks here, so that none goes unchecked. Adding an API: a folder with a renderer and
a validator, a line for each here, their tests, their docs. Neither imports anything of the other: each is a second
opinion on the other.
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
"""From a body, as JSON or decoded, to what its API would refuse it for; nothing for one that it takes."""

VALIDATORS: Final[dict[str, Validator]] = {"anthropic": validate_anthropic}


def validator_named(name: str) -> Validator:
    """The validator of an API's requests. Raises NotFoundError."""
    if name not in VALIDATORS:
        raise NotFoundError("validator", name, f"there are: {', '.join(sorted(VALIDATORS))}")
    return VALIDATORS[name]


RENDERERS: Final[dict[str, Renderer]] = {"anthropic": render_for_anthropic}


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of a request's body, what was repaired for it, and what its API would refuse it for all the same."""

    body: bytes
    repairs: tuple[Repair, ...]
    violations: tuple[Violation, ...]


def request(context: Context, api: str = "anthropic", **options: Unpack[RequestOptions]) -> Request:
    """A context as a request to an API, checked as it would be sent: same context, same bytes.

    What no repair can mend is a violation: a context without messages, or without a model; options that the
    API does not take. Raises NotFoundError for an API that is not there, BadInputError for tools that are no
    JSON list of objects.
    """
    if api not in RENDERERS:
        raise NotFoundError("renderer", api, f"there are: {', '.join(sorted(RENDERERS))}")
    rendered = RENDERERS[api](context, **options)
    violations = validator_named(api)(rendered.body)
    return Request(body=rendered.body, repairs=rendered.repairs, violations=tuple(violations))
