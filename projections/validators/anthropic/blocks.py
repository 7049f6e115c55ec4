"""Messages and their blocks: which there may be where, and what they consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from projections.validators.anthropic.rules import Rule
from projections.validators.violation import Violation

MOST_MESSAGES: Final = 100_000
SERVER_RESULTS: Final = frozenset(
    {
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
    }
)
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


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_anything(_value: Any) -> bool:
    return True


def _is_summary(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value != "")


def _is_content(value: Any) -> bool:
    return isinstance(value, str | list)


_Fields = dict[str, Callable[[Any], bool]]
_OF_ALL: Final[_Fields] = {"type": _is_text, "cache_control": _is_anything}
_NEEDED: Final[Mapping[str, _Fields]] = {
    "text": {"text": _is_text},
    "image": {"source": _is_object},
    "document": {"source": _is_object},
    "search_result": {"source": _is_text, "title": _is_text, "content": _is_list},
    "tool_use": {"id": _is_text, "name": _is_text, "input": _is_object},
    "tool_result": {"tool_use_id": _is_text},
    "thinking": {"thinking": _is_text, "signature": _is_text},
    "redacted_thinking": {"data": _is_text},
    "compaction": {"content": _is_summary},
    "server_tool_use": {"id": _is_text, "name": _is_text, "input": _is_object},
    **{type_: {"tool_use_id": _is_text, "content": _is_anything} for type_ in SERVER_RESULTS},
}
_FURTHER: Final[Mapping[str, _Fields]] = {
    "text": {"citations": _is_anything},
    "image": {"transformations": _is_anything},
    "tool_use": {"caller": _is_object, "toolset_name": _is_anything},
    "tool_result": {"content": _is_content, "is_error": _is_boolean, "toolset_name": _is_anything},
    "thinking": {},
}
"""What else there may be in blocks of these types, and nothing more. The others are the API's own to fill."""


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
    violations = [each for block in blocks for each in _shape(block, _OF_ROLES[role])]
    return Turn(path, role, blocks), violations


def located(path: str, content: str | list[Any]) -> list[Located]:
    """The blocks of a content; a text is one, at its own path."""
    if isinstance(content, str):
        return [Located(path, {"type": "text", "text": content})]
    return [
        Located(f"{path}[{number}]", block if isinstance(block, dict) else {})
        for number, block in enumerate(content)
    ]


def inner(result: Located) -> list[Located]:
    """The blocks of a result's content; none of one that is a text."""
    content = result.block.get("content")
    return located(f"{result.path}.content", content) if isinstance(content, list) else []


def _shape(item: Located, allowed: frozenset[str]) -> Iterator[Violation]:
    """What is wrong with a block by itself."""
    type_ = item.block.get("type")
    if not isinstance(type_, str) or type_ not in allowed:
        problem = f"there can be no block of type {str(type_)[:80]!r}"
        yield Violation(rule=Rule.BLOCK_TYPE, path=item.path, problem=problem)
        return
    yield from _fields(item, _NEEDED[type_], _FURTHER.get(type_))
    if type_ == "tool_result":
        for each in inner(item):
            yield from _shape(each, _OF_RESULTS)


def _fields(item: Located, needed: _Fields, further: _Fields | None) -> Iterator[Violation]:
    for name in needed:
        if name not in item.block:
            yield Violation(rule=Rule.BLOCK_SHAPE, path=item.path, problem=f"it has no {name}")
    known = {**_OF_ALL, **needed, **(further or {})}
    for name, value in item.block.items():
        path = f"{item.path}.{name}"
        if name not in known and further is None:
            continue
        if name not in known:
            yield Violation(rule=Rule.BLOCK_SHAPE, path=path, problem="there is no such field")
        elif not known[name](value):
            yield Violation(rule=Rule.BLOCK_SHAPE, path=path, problem="its value is of another type")
