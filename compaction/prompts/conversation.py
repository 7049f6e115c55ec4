"""A conversation as a text that a model summarizes and does not go on with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from eventstore.formats import view_of_message
from eventstore.javascript import compact_json, cut_utf16, key_order, stringify, utf16_length
from eventstore.views import Message, ToolCall, shell_text
from projections.context.parts import Part
from projections.transcript import CONTINUATION, assistant_lines

LONGEST_RESULT: Final = 2_000
"""Characters of a tool result that a summarizer is shown: UTF-16 units, as pi counts them."""
_TAGS: Final = ("conversation", "previous-summary", "additional-context", "draft", "summary", "analysis")
_IMITATED: Final = re.compile(rf"<(?=\s*+(?:/\s*+)?(?:{'|'.join(_TAGS)})\b)", re.IGNORECASE)
_USER: Final = "[User]: "
_HALF_A_PAIR: Final = re.compile("[\ud800-\udbff]\\Z")


def serialized(parts: Iterable[Part]) -> str:
    """Messages of a context as text, a blank line between: pi's shape.

    `[User]: `, `[Assistant thinking]: `, `[Assistant]: `, `[Assistant tool calls]: name(key=json, …); …` and
    `[Tool result]: `. Results over 2,000 characters are cut there, and say by how much. Images are left out,
    and so is what was kept from the model. What goes on after a compaction is no user's, and begins with
    `[Continuation]: `.
    """
    return "\n\n".join(line for part in parts for line in _lines_of(part))


def in_tag(tag: str, text: str) -> str:
    """A text in a tag; what imitates a tag of the prompt inside it is escaped."""
    return f"<{tag}>\n{escaped(text)}\n</{tag}>"


def escaped(text: str) -> str:
    """A text in which nothing opens or closes a part of the prompt."""
    return _IMITATED.sub("&lt;", text)


def _lines_of(part: Part) -> Iterator[str]:
    lines = _lines(view_of_message(part.raw))
    return (line.replace(_USER, CONTINUATION, 1) for line in lines) if part.continues else lines


def _lines(message: Message) -> Iterator[str]:
    if message.shell is not None:
        if not message.shell.excluded:
            yield f"{_USER}{shell_text(message.shell)}"
    elif message.role == "assistant":
        yield from assistant_lines(message, _call)
    elif message.role == "toolResult":
        if message.text:
            yield f"[Tool result]: {_cut(message.text)}"
    elif message.text:
        yield f"{_USER}{message.text}"


def _call(call: ToolCall) -> str:
    """A call as pi tells it; arguments that are no object, which pi leaves out, are told as they are."""
    arguments = call.decoded
    if not isinstance(arguments, dict):
        return f"{call.name}({compact_json(call.arguments)})"
    return f"{call.name}({', '.join(f'{key}={stringify(arguments[key])}' for key in key_order(arguments))})"


def _cut(text: str) -> str:
    """The beginning of a long text; unlike pi, no pair of surrogates is parted."""
    length = utf16_length(text) if len(text) > LONGEST_RESULT // 2 else 0
    if length <= LONGEST_RESULT:
        return text
    shown = _HALF_A_PAIR.sub("", cut_utf16(text, LONGEST_RESULT))
    return f"{shown}\n\n[... {length - utf16_length(shown)} more characters truncated]"
