"""What a rewrite looks at: the messages of a context, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from eventstore.estimates import fragments
from eventstore.formats import view_of_message
from eventstore.records import Shown
from eventstore.views import Message, ToolCall
from projections.context.overlay import overlaid
from projections.context.parts import Fate, Part
from projections.tokens import Counter


class SizedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message: its part, what it says, its tokens, the tokens of all messages behind it.

    `call` is the call that a tool result answers, None for other messages and for orphans.
    """

    part: Part
    message: Message
    tokens: int
    behind: int
    call: ToolCall | None

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.part.id

    @property
    def is_result(self) -> bool:
        """Whether it is a tool's result."""
        return self.message.role == "toolResult"

    @property
    def is_rewritten(self) -> bool:
        """Whether an earlier rewrite already shows it otherwise."""
        return self.part.fate is Fate.REWRITTEN

    @property
    def output(self) -> str | None:
        """What a tool gave, or a command that the person ran; None for messages that hold no output."""
        if self.message.shell is not None:
            return self.message.shell.output
        return self.message.text if self.is_result else None

    @property
    def characters(self) -> int:
        """The length of its output, of other messages that of their text."""
        if self.message.shell is not None:
            return len(self.message.shell.output)
        return sum(map(len, fragments(self.message)))


class SizedContext(msgspec.Struct, frozen=True, kw_only=True):
    """A context's messages, oldest first.

    `idle` is how long nothing has happened, in milliseconds. `is_compacting`: the prefix is lost in any case,
    so that no rewrite has to spare a prompt cache. `is_subagent`: another session started this one.
    """

    session: str
    messages: tuple[SizedMessage, ...]
    idle: int = 0
    is_compacting: bool = False
    is_subagent: bool = False

    @property
    def results(self) -> list[SizedMessage]:
        """The tools' results, oldest first."""
        return [each for each in self.messages if each.is_result]

    def results_but_newest(self, count: int) -> list[SizedMessage]:
        """The tools' results without the newest so many, oldest first."""
        return self.results[:-count] if count else self.results

    @property
    def outputs(self) -> list[SizedMessage]:
        """The tools' results, and the commands that the person ran, oldest first."""
        return [each for each in self.messages if each.output is not None]


def sized(
    session: str,
    parts: Sequence[Part],
    tokens: Counter,
    *,
    idle: int = 0,
    is_compacting: bool = False,
    is_subagent: bool = False,
) -> SizedContext:
    """The context of these messages, with their sizes."""
    return SizedContext(
        session=session,
        messages=tuple(_with_sizes(parts, tokens.count(parts))),
        idle=idle,
        is_compacting=is_compacting,
        is_subagent=is_subagent,
    )


def shown_after(before: SizedContext, targets: Sequence[Shown], tokens: Counter) -> SizedContext:
    """The context as a rewrite leaves it, for the rewrite that comes next."""
    if not targets:
        return before
    parts = overlaid([each.part for each in before.messages], targets)
    return msgspec.structs.replace(before, messages=tuple(_with_sizes(parts, tokens.count(parts))))


def _with_sizes(parts: Sequence[Part], counts: Sequence[int]) -> Iterator[SizedMessage]:
    behind = sum(counts)
    calls: dict[str, ToolCall] = {}
    for part, count in zip(parts, counts, strict=True):
        message = view_of_message(part.raw)
        behind -= count
        calls.update((call.id, call) for call in message.tool_calls)
        call = calls.get(message.tool_call_id) if message.role == "toolResult" else None
        yield SizedMessage(part=part, message=message, tokens=count, behind=behind, call=call)
