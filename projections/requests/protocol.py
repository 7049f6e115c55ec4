"""The types that every API's renderer and validator take and give."""

from __future__ import annotations

from typing import Protocol, TypedDict, Unpack

import msgspec

from projections.context.parts import Context


class RequestOptions(TypedDict, total=False):
    """The options of a request, beside the messages of its context.

    `model` is the context's unless another is named. System prompt and `tools` (a JSON list of their
    definitions) are not in the log. `cache_breakpoints` are marks to set, `caches_messages` has the API set
    one itself. `forbids_tools`: the model may call none. `streams`: the answer comes in events.
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
    """One change: by which rule, to the message of which event (its id), and what was done."""

    rule: str
    event: str
    action: str


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of a request's body, and what was repaired for it, in the order in which it was met."""

    body: bytes
    repairs: tuple[Repair, ...]


class Renderer(Protocol):
    """Makes a request of a context: same context, same bytes."""

    def __call__(self, context: Context, /, **options: Unpack[RequestOptions]) -> Rendered:
        """The request. Raises BadInputError for tools that are no JSON list of objects."""


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that a body breaks: its name, where in the body (`messages[3].content[0].text`), and what is wrong."""

    rule: str
    path: str
    problem: str
