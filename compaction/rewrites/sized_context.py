"""The messages of a context with their sizes, and which of them rewrites leave alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from eventstore.estimates import fragments
from eventstore.formats import tools_of
from eventstore.formats.base import Tools
from eventstore.records import TextReplacement
from eventstore.views import Message, ToolCall
from projections.context.overlay import apply_rewrites
from projections.context.parts import Fate, Part, view_of_part
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
        """True if it is a tool's result."""
        return self.message.role == "toolResult"

    @property
    def is_rewritten(self) -> bool:
        """True if an earlier rewrite already shows it otherwise."""
        return self.part.fate is Fate.REWRITTEN

    @property
    def output(self) -> str | None:
        """The output of a tool, or of a command that the person ran; None for other messages."""
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
        """Return the tools' results without the newest so many, oldest first."""
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
    """Return the context of these messages, with their sizes."""
    return SizedContext(
        session=session,
        messages=tuple(_with_sizes(parts, tokens.count(parts))),
        idle=idle,
        is_compacting=is_compacting,
        is_subagent=is_subagent,
    )


def shown_after(before: SizedContext, targets: Sequence[TextReplacement], tokens: Counter) -> SizedContext:
    """Return the context as a rewrite leaves it, for the rewrite that comes next."""
    if not targets:
        return before
    parts = apply_rewrites([each.part for each in before.messages], targets)
    return msgspec.structs.replace(before, messages=tuple(_with_sizes(parts, tokens.count(parts))))


def _with_sizes(parts: Sequence[Part], counts: Sequence[int]) -> Iterator[SizedMessage]:
    behind = sum(counts)
    calls: dict[str, ToolCall] = {}
    for part, count in zip(parts, counts, strict=True):
        message = view_of_part(part)
        behind -= count
        calls.update((call.id, call) for call in message.tool_calls)
        call = calls.get(message.tool_call_id) if message.role == "toolResult" else None
        yield SizedMessage(part=part, message=message, tokens=count, behind=behind, call=call)


WARM_TOKENS: Final = 8_000
"""Outside of a compaction only results with at most so many tokens behind them are touched: oh-my-pi's guard."""
CACHE_LIFETIME: Final = 5 * 60 * 1000
"""Milliseconds after which a provider's prompt cache is gone, unless it was asked for an hour."""
WARM: Final = "a prompt cache may still hold what could be rewritten, and is spared until it is gone"
"""Why nothing is rewritten where `spares_cache` says no of all that could be."""


def is_protected(each: SizedMessage, protected: Sequence[str]) -> bool:
    """Return True if a result's tool is protected: by its name, or `name scheme://` for some of its paths only."""
    name = each.message.tool_name or (each.call.name if each.call else "")
    for entry in protected:
        tool, _, beginning = entry.partition(" ")
        if tool == name and (
            not beginning or path_of(each.call, tools_of(each.part.format)).startswith(beginning)
        ):
            return True
    return False


def path_of(call: ToolCall | None, tools: Tools) -> str:
    """Return the path that a call names, "" for none."""
    for argument in tools.paths if call else ():
        value = call.argument(argument) if call else None
        if isinstance(value, str) and value:
            return value
    return ""


def spares_cache(context: SizedContext, each: SizedMessage) -> bool:
    """Return True if rewriting a message costs no more of a prompt cache than is lost anyhow, or very little."""
    return context.is_compacting or each.behind <= WARM_TOKENS or context.idle > CACHE_LIFETIME
