"""The types that every API's renderer and validator share."""

from __future__ import annotations

from typing import Protocol, TypedDict, Unpack

import msgspec

from projections.context.parts import Context


class RequestOptions(TypedDict, total=False):
    """The options of a request, besides the messages of its context.

    `model` defaults to the context's. The system prompt and `tools` (a JSON list of definitions) are not in
    the log. `cache_breakpoints` is the number of breakpoints to set; `caches_messages` lets the API set one
    itself. `forbids_tools`: the model may call none. `streams`: the answer arrives as events.
    """

    model: str | None
    max_tokens: int
    system: str | None
    tools: bytes | None
    cache_breakpoints: int
    forbids_tools: bool
    caches_messages: bool
    streams: bool


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One change: the rule that required it, the id of the changed event, and the action."""

    rule: str
    event: str
    action: str


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of a request's body, and its repairs in the order in which they were made."""

    body: bytes
    repairs: tuple[Repair, ...]


class Renderer(Protocol):
    """Builds a request from a context: the same context gives the same bytes."""

    def __call__(self, context: Context, /, **options: Unpack[RequestOptions]) -> Rendered:
        """Return the request. Raises BadInputError if the tools are not a JSON list of objects."""


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that a body breaks, its place (`messages[3].content[0].text`), and the problem."""

    rule: str
    path: str
    problem: str
