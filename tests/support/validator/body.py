"""Check a body as a whole: settings, system prompt, tools and cache breakpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from projections.requests.rendered import Violation
from tests.support.validator.schema import (
    OF_BODIES,
    THINKING,
    ApiRule,
    CheckedMessage,
    Located,
    inner,
    located,
    says_something,
)

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")


_CHOICES: Final = ("auto", "any", "tool", "none")


def check_fields(body: dict[str, Any]) -> Iterator[Violation]:
    """Check that the API knows every field."""
    for name in body:
        if name not in OF_BODIES:
            yield Violation(rule=ApiRule.FIELDS, path=name[:80], problem="unknown field")
    if body.get("compaction") is not None and body.get("context_management") is not None:
        problem = "it excludes context_management"
        yield Violation(rule=ApiRule.FIELDS, path="compaction", problem=problem)


def check_settings(body: dict[str, Any]) -> Iterator[Violation]:
    """Check that the body names a model and an output limit, and that `stream` is a boolean."""
    model, most = body.get("model"), body.get("max_tokens")
    if not isinstance(model, str) or not model.strip():
        yield Violation(rule=ApiRule.MODEL, path="model", problem="no model is named")
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        yield Violation(rule=ApiRule.MAX_TOKENS, path="max_tokens", problem="it is not an integer ≥ 0")
    if not isinstance(body.get("stream", False), bool):
        yield Violation(rule=ApiRule.STREAM, path="stream", problem="it is not true or false")


def check_system(body: dict[str, Any]) -> Iterator[Violation]:
    """Check that a system prompt is a text or text blocks, none of them blank."""
    system = body.get("system")
    if system is None and "system" not in body:
        return
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    if not isinstance(blocks, list) or not all(map(_is_prompt, blocks)):
        problem = "it is not a text or a list of text blocks, or part of it is blank"
        yield Violation(rule=ApiRule.SYSTEM, path="system", problem=problem)


def _is_prompt(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and says_something(block.get("text"))


def check_tools(body: dict[str, Any]) -> Iterator[Violation]:
    """Check that each tool has a valid definition and a unique name."""
    tools = body.get("tools", [])
    if not isinstance(tools, list):
        yield Violation(rule=ApiRule.TOOLS, path="tools", problem="it is not a list")
        return
    names: set[str] = set()
    for number, tool in enumerate(tools):
        problem = _wrong_with(tool, names)
        if problem:
            yield Violation(rule=ApiRule.TOOLS, path=f"tools[{number}]", problem=problem)


def _wrong_with(tool: Any, names: set[str]) -> str:
    """Return the problem of a tool's definition, or "", and add its name to `names`."""
    if not isinstance(tool, dict):
        return "it is not an object"
    name = tool.get("name")
    is_custom = tool.get("type") in (None, "custom")
    if name is None and not is_custom:
        return ""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "a tool name has 1 to 128 letters, digits, _ and -"
    if name in names:
        return "an earlier tool has this name"
    names.add(name)
    schema = tool.get("input_schema")
    if is_custom and (not isinstance(schema, dict) or schema.get("type") != "object"):
        return "its input_schema is not that of an object"
    return ""


def check_tool_choice(body: dict[str, Any]) -> Iterator[Violation]:
    """Check that `tool_choice` is valid and that it comes with tools."""
    if "tool_choice" not in body:
        return
    choice, tools = body["tool_choice"], body.get("tools")
    names = [tool.get("name") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    problem = ""
    if not isinstance(choice, dict) or choice.get("type") not in _CHOICES:
        problem = f"its type is not one of {', '.join(_CHOICES)}"
    elif not tools:
        problem = "there are no tools"
    elif choice["type"] == "tool" and (not choice.get("name") or choice["name"] not in names):
        problem = "no tool has this name"
    if problem:
        yield Violation(rule=ApiRule.TOOL_CHOICE, path="tool_choice", problem=problem)


_MOST: Final = 4
_LIFETIMES: Final = ("5m", "1h")
_LONG: Final = "1h"


class _Mark(msgspec.Struct, frozen=True):
    """A cache breakpoint and its position."""

    path: str
    value: Any

    @property
    def lifetime(self) -> Any:
        return self.value.get("ttl", "5m") if isinstance(self.value, dict) else None

    @property
    def is_sound(self) -> bool:
        is_object = isinstance(self.value, dict) and set(self.value) <= {"type", "ttl"}
        return is_object and self.value.get("type") == "ephemeral" and self.lifetime in _LIFETIMES


def check_cache(body: dict[str, Any], turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check for at most four cache breakpoints, long-lived ones first, and none on thinking."""
    marks = list(_marks(body, turns))
    for mark in marks:
        if not mark.is_sound:
            problem = "a breakpoint must be ephemeral and last 5m or 1h"
            yield Violation(rule=ApiRule.CACHE_BREAKPOINTS, path=mark.path, problem=problem)
    for turn in turns:
        for each in turn.blocks:
            if each.type in THINKING and each.block.get("cache_control") is not None:
                problem = "thinking cannot have a breakpoint"
                yield Violation(rule=ApiRule.CACHE_BREAKPOINTS, path=each.path, problem=problem)
    if len(marks) > _MOST:
        yield Violation(
            rule=ApiRule.CACHE_BREAKPOINTS, path="", problem=f"there are {len(marks)} breakpoints"
        )
    is_short = False
    for mark in marks:
        if is_short and mark.lifetime == _LONG:
            problem = "a 1h breakpoint follows a 5m one"
            yield Violation(rule=ApiRule.CACHE_BREAKPOINTS, path=mark.path, problem=problem)
        is_short = is_short or mark.lifetime != _LONG


def _marks(body: dict[str, Any], turns: Sequence[CheckedMessage]) -> Iterator[_Mark]:
    """Yield the breakpoints of a body in the API's order, its automatic one last."""
    around = (item for name in ("tools", "system") for item in located(name, _items(body.get(name))))
    within = (each for turn in turns for block in turn.blocks for each in _all_in(block))
    whole = Located("", body)
    for each in (*around, *within, whole):
        mark = each.block.get("cache_control")
        if mark is not None:
            yield _Mark(f"{each.path}.cache_control".removeprefix("."), mark)


def _all_in(block: Located) -> Iterator[Located]:
    """Yield the parts of a block that can have a breakpoint, the block itself last."""
    if block.type in ("tool_result", "search_result"):
        for each in inner(block):
            yield from _all_in(each)
    elif block.type == "document":
        source = block.block["source"]
        yield from inner(Located(f"{block.path}.source", source))
    yield block


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
