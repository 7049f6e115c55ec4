"""Messages and their blocks: which there may be where, and what they consist of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from projections.validators.anthropic.fields import (
    CLOSED,
    KNOWN,
    NEEDED,
    OF_MESSAGES,
    SERVER_RESULTS,
)
from projections.validators.anthropic.rules import Rule
from projections.validators.violation import Violation

MOST_MESSAGES: Final = 100_000
THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_OF_RESULTS: Final = frozenset({"text", "image", "document", "search_result"})
_OF_ROLES: Final = {
    "user": _OF_RESULTS | {"tool_result", "compaction"},
    "assistant": THINKING | SERVER_RESULTS | {"text", "tool_use", "server_tool_use", "compaction"},
}


class Located(msgspec.Struct, frozen=True):
    """A block and where it stands in the body."""

    path: str
    block: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.block["type"])


class Turn(msgspec.Struct, frozen=True):
    """A message whose shape is right, its content as blocks."""

    path: str
    role: str
    blocks: list[Located]


def turns(messages: Any) -> tuple[list[Turn], list[Violation]]:
    """The messages of a body, and what is wrong with the shape of any of them."""
    if not isinstance(messages, list) or not 0 < len(messages) <= MOST_MESSAGES:
        problem = f"it is no list of 1 to {MOST_MESSAGES:,} messages"
        return [], [Violation(rule=Rule.MESSAGES, path="messages", problem=problem)]
    found = [_turn(f"messages[{number}]", message) for number, message in enumerate(messages)]
    return [turn for turn, _ in found if turn], [each for _, violations in found for each in violations]


def _turn(path: str, message: Any) -> tuple[Turn | None, list[Violation]]:
    if not isinstance(message, dict):
        return None, [Violation(rule=Rule.MESSAGES, path=path, problem="it is no object")]
    role = message.get("role")
    if not isinstance(role, str) or role not in _OF_ROLES:
        return None, [Violation(rule=Rule.ROLE, path=f"{path}.role", problem="it is not user or assistant")]
    content = message.get("content")
    if not isinstance(content, str | list) or not content:
        problem = "it is no text, and no list of blocks, or it is empty"
        return None, [Violation(rule=Rule.CONTENT, path=f"{path}.content", problem=problem)]
    blocks = located(f"{path}.content", content)
    violations = [
        Violation(rule=Rule.FIELDS, path=f"{path}.{name}", problem="there is no such field")
        for name in message
        if name not in OF_MESSAGES
    ]
    violations += [each for block in blocks for each in _shape(block, _OF_ROLES[role])]
    return Turn(path, role, blocks), violations


def located(path: str, content: str | list[Any]) -> list[Located]:
    """The blocks of a content; a text is one, at its own path."""
    if isinstance(content, str):
        return [Located(path, {"type": "text", "text": content})]
    return [
        Located(f"{path}[{number}]", block if isinstance(block, dict) else {})
        for number, block in enumerate(content)
    ]


def inner(holder: Located) -> list[Located]:
    """The blocks of what a result holds; none of a content that is a text."""
    content = holder.block.get("content")
    return located(f"{holder.path}.content", content) if isinstance(content, list) else []


def _shape(item: Located, allowed: frozenset[str]) -> Iterator[Violation]:
    """What is wrong with a block by itself."""
    type_ = item.block.get("type")
    if not isinstance(type_, str) or type_ not in allowed:
        problem = f"there can be no block of type {str(type_)[:80]!r}"
        yield Violation(rule=Rule.BLOCK_TYPE, path=item.path, problem=problem)
        return
    yield from _fields(item, type_)
    if type_ == "tool_result":
        for each in inner(item):
            yield from _shape(each, _OF_RESULTS)


def _fields(item: Located, type_: str) -> Iterator[Violation]:
    known = KNOWN[type_]
    for name in NEEDED[type_]:
        if name not in item.block:
            yield Violation(rule=Rule.BLOCK_SHAPE, path=item.path, problem=f"it has no {name}")
    for name, value in item.block.items():
        path = f"{item.path}.{name}"
        if name in known and not known[name](value):
            yield Violation(rule=Rule.BLOCK_SHAPE, path=path, problem="its value is none that there can be")
        elif name not in known and type_ in CLOSED:
            yield Violation(rule=Rule.BLOCK_SHAPE, path=path, problem="there is no such field")
