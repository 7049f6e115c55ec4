"""Extract facts from messages: texts, mentions, tool calls, and touched files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, filterfalse
from typing import Any

import msgspec

from eventstore.harnesses import format_of
from eventstore.harnesses.base import NO_TOOLS, Tools
from eventstore.views import Message, Text, Thinking, ToolCall
from projections.context.parts import Part, view_of_part
from projections.files import files_of_call
from projections.mentions import MentionKind, commands, mentions

_Named = tuple[tuple[MentionKind, str], ...]
"""The things that a line mentions, in order."""


class LineMentions:
    """A cache of what lines mention.

    The same lines occur in many texts, because files are read again, searched and changed. No finder looks
    beyond the ends of a line, so a text mentions what its lines mention. Memory use follows the number of
    distinct lines.
    """

    def __init__(self) -> None:
        self._named: dict[str, _Named] = {}

    def mentions_in(self, texts: Iterable[str]) -> dict[MentionKind, dict[str, None]]:
        """Return the distinct things of each kind that texts mention, in order of appearance."""
        lines = dict.fromkeys(chain.from_iterable(text.split("\n") for text in texts))
        known = self._named
        self._look_at([*filterfalse(known.__contains__, lines)])
        found: dict[MentionKind, dict[str, None]] = {}
        for kind, value in dict.fromkeys(chain.from_iterable(map(known.__getitem__, lines))):
            if kind in found:
                found[kind][value] = None
            else:
                found[kind] = {value: None}
        return found

    def _look_at(self, lines: Sequence[str]) -> None:
        """Scan several lines as one text, which is faster than one by one."""
        self._named.update(dict.fromkeys(lines, ()))
        ends = [*accumulate(len(line) + 1 for line in lines)]
        for mention in mentions("\n".join(lines)):
            line = lines[bisect_right(ends, mention.start)]
            self._named[line] += ((mention.kind, mention.value),)


# Thousands per session and never in a cycle, so keep them out of garbage collection.
class MessageFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The facts of one message.

    `texts` are everything that a model reads: text, thinking, each string in a call's arguments, results,
    shell command and output. `mentions` are the distinct things in them, in order of appearance, plus the
    files that calls touch and the commands given to shells. `is_error`: a result marked as an error, or a failed
    shell command. `tools` are those of its harness.
    """

    texts: tuple[str, ...]
    mentions: Mapping[MentionKind, tuple[str, ...]]
    read: tuple[str, ...]
    modified: tuple[str, ...]
    is_error: bool
    tools: Tools


class SessionFacts:
    """The facts of a session's messages, each read once; memory use follows the session's size."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int, bytes], MessageFacts] = {}
        self._lines = LineMentions()

    def of_part(self, part: Part) -> MessageFacts:
        """Return the facts of a message of a context, as the context shows it."""
        key = (part.session, part.seq, part.raw)
        if key not in self._held:
            self._held[key] = message_facts(view_of_part(part), format_of(part.format).tools, self._lines)
        return self._held[key]


def message_facts(
    message: Message, tools: Tools = NO_TOOLS, lines: LineMentions | None = None
) -> MessageFacts:
    """Return the facts of a message.

    A shell command that the harness hides from the model has none. `tools` are the harness's tools, `lines`
    the session's cache.
    """
    lines = LineMentions() if lines is None else lines
    thoughts, texts, calls = list[str](), list[str](), message.tool_calls
    ran: list[str] = []
    shell = message.shell
    if shell is not None and not shell.excluded:
        texts += [shell.command, shell.output]
        ran += commands(shell.command) if message.role == "bashExecution" else []
    for block in message.blocks if shell is None else ():
        if isinstance(block, Thinking):
            thoughts.append(block.text)
        elif isinstance(block, Text):
            texts.append(block.text)
        elif isinstance(block, ToolCall):
            texts += _strings(block.decoded)
            ran += _commands(block, tools)
    files = [files_of_call(call, tools) for call in calls]
    read = tuple(dict.fromkeys(path for paths, _ in files for path in paths))
    modified = tuple(dict.fromkeys(path for _, paths in files for path in paths))
    named = lines.mentions_in([*thoughts, *texts])
    named.setdefault(MentionKind.PATH, {}).update(dict.fromkeys(read + modified))
    named[MentionKind.COMMAND] = dict.fromkeys(filter(None, ran))
    return MessageFacts(
        texts=tuple(filter(None, (*thoughts, *texts))),
        mentions={kind: tuple(values) for kind, values in named.items() if values},
        read=read,
        modified=modified,
        is_error=message.is_error or bool(shell and shell.exit_code),
        tools=tools,
    )


def commands_of(call: ToolCall, tools: Tools) -> tuple[str, ...]:
    """Return the distinct commands that a call gives to a shell, in order."""
    return tuple(dict.fromkeys(filter(None, _commands(call, tools))))


def _commands(call: ToolCall, tools: Tools) -> list[str]:
    names = tools.shells.get(call.name)
    return commands(_script(call.decoded, names)) if names else []


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value, in order.

    Skips keys: they belong to the tool, not to the work.
    """
    # Values may be nested deeply, so use a stack instead of recursion.
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending += reversed(item.values())
        elif isinstance(item, list):
            pending += reversed(item)


def _script(arguments: Any, names: Sequence[str]) -> str:
    """Return the script in a shell call's arguments.

    It is a text or a list of words, in which `bash -lc` and the like have the script last.
    """
    given = arguments if isinstance(arguments, dict) else {}
    script = next((given[name] for name in names if name in given), "")
    if not isinstance(script, list):
        return script if isinstance(script, str) else ""
    words = [word for word in script if isinstance(word, str)]
    is_wrapped = len(words) > 2 and words[1].startswith("-") and words[1].endswith("c")  # noqa: PLR2004  shell, -c, script
    return words[2] if is_wrapped else " ".join(words)
