"""Measure the messages of a context, and mark those that rewrites leave alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from eventstore.estimates import fragments
from eventstore.harnesses import format_of
from eventstore.harnesses.base import Tools
from eventstore.records import TextReplacement
from eventstore.views import Message, ToolCall
from projections.context.overlay import apply_rewrites
from projections.context.parts import Fate, Part, view_of_part
from projections.tokens import Counter
from projections.usage import CACHE_LIFETIME


class SizedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A part with its message, its tokens, and the tokens of all messages after it.

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

    def shown_as(self, text: str, block: int | None = None) -> TextReplacement:
        """Return the replacement of its content, or of a block.

        In an entry that holds more, it is for this result alone.
        """
        call = self.message.tool_call_id if self.part.place else ""
        return TextReplacement(target=self.id, text=text, block=block, call=call)

    @property
    def is_result(self) -> bool:
        """True if it is a tool result."""
        return self.message.role == "toolResult"

    @property
    def is_rewritten(self) -> bool:
        """True if an earlier rewrite already changes it."""
        return self.part.fate is Fate.REWRITTEN

    @property
    def output(self) -> str | None:
        """The output of a tool or of a person's command, None for other messages."""
        if self.message.shell is not None:
            return self.message.shell.output
        return self.message.text if self.is_result else None

    @property
    def characters(self) -> int:
        """The length of its output, or of its text for other messages."""
        if self.message.shell is not None:
            return len(self.message.shell.output)
        return sum(map(len, fragments(self.message)))


class SizedContext(msgspec.Struct, frozen=True, kw_only=True):
    """A context's messages, oldest first.

    `idle` is the idle time in milliseconds. `is_compacting` means that the prefix is lost anyway, so that
    rewrites need not spare the prompt cache. `is_subagent` means that another session started this one.
    """

    session: str
    messages: tuple[SizedMessage, ...]
    idle: int = 0
    is_compacting: bool = False
    is_subagent: bool = False

    @property
    def results(self) -> list[SizedMessage]:
        """The tool results, oldest first."""
        return [each for each in self.messages if each.is_result]

    def results_but_newest(self, count: int) -> list[SizedMessage]:
        """Return the tool results without the newest `count`, oldest first."""
        return self.results[:-count] if count else self.results

    @property
    def outputs(self) -> list[SizedMessage]:
        """The tool results and the person's commands, oldest first."""
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
    """Return a context of these messages, with their sizes."""
    return SizedContext(
        session=session,
        messages=tuple(_with_sizes(parts, tokens.count(parts))),
        idle=idle,
        is_compacting=is_compacting,
        is_subagent=is_subagent,
    )


def shown_after(before: SizedContext, targets: Sequence[TextReplacement], tokens: Counter) -> SizedContext:
    """Return the context after a rewrite, as input for the next one."""
    if not targets:
        return before
    parts = apply_rewrites([each.part for each in before.messages], targets)
    # Most messages stay as they are, and to count them again would take longer than the rest.
    sizes = {id(each.part): each.tokens for each in before.messages}
    changed = [part for part in parts if id(part) not in sizes]
    sizes |= {id(part): size for part, size in zip(changed, tokens.count(changed), strict=True)}
    counts = [sizes[id(part)] for part in parts]
    return msgspec.structs.replace(before, messages=tuple(_with_sizes(parts, counts)))


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
"""As in oh-my-pi, rewrite outside of a compaction only with at most so many tokens after."""
WARM: Final = (
    "a prompt cache may still hold the messages that could be rewritten, so they are kept until it expires"
)
"""The reason why nothing is rewritten if `spares_cache` rules out every candidate."""


def is_protected(each: SizedMessage, protected: Sequence[str]) -> bool:
    """Return True if a result's tool is protected, by name or by `name scheme://`.

    With a scheme, only results for such paths are protected.
    """
    name = each.message.tool_name or (each.call.name if each.call else "")
    for entry in protected:
        tool, _, beginning = entry.partition(" ")
        if tool == name and (
            not beginning or path_of(each.call, format_of(each.part.format).tools).startswith(beginning)
        ):
            return True
    return False


def path_of(call: ToolCall | None, tools: Tools) -> str:
    """Return the path argument of a call, "" for none."""
    for argument in tools.paths if call else ():
        value = call.argument(argument) if call else None
        if isinstance(value, str) and value:
            return value
    return ""


def spares_cache(context: SizedContext, each: SizedMessage) -> bool:
    """Return True if rewriting a message invalidates little or nothing of a live prompt cache."""
    return context.is_compacting or each.behind <= WARM_TOKENS or context.idle > CACHE_LIFETIME
