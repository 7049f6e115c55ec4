"""A context as a request to an API, and what the API would refuse it for.

What sends or shows a request asks here, so that none goes unchecked. Adding an API: a renderer and a line
here, a validator of the same name, their tests, their docs. Neither imports anything of the other.
"""

from __future__ import annotations

from typing import Final, Unpack

import msgspec

from eventstore.errors import NotFoundError
from projections.context.parts import Context
from projections.renderers.anthropic import render as render_for_anthropic
from projections.renderers.rendering import Options, Renderer, Repair
from projections.validators import Violation, validator_named

RENDERERS: Final[dict[str, Renderer]] = {"anthropic": render_for_anthropic}


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of a request's body, what was repaired for it, and what its API would refuse it for all the same."""

    body: bytes
    repairs: tuple[Repair, ...]
    violations: tuple[Violation, ...]


def request(context: Context, api: str = "anthropic", **options: Unpack[Options]) -> Request:
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
