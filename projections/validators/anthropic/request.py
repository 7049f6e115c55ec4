"""Rules of what stands around the messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from projections.validators.anthropic.blocks import THINKING, Turn, inner
from projections.validators.anthropic.rules import Rule
from projections.validators.violation import Violation

_MOST_BREAKPOINTS: Final = 4
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def check_settings(body: dict[str, Any]) -> Iterator[Violation]:
    """A model is named, and how much it may write."""
    model, most = body.get("model"), body.get("max_tokens")
    if not isinstance(model, str) or not model.strip():
        yield Violation(rule=Rule.MODEL, path="model", problem="no model is named")
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        yield Violation(rule=Rule.MAX_TOKENS, path="max_tokens", problem="it is no integer, or below 0")


def check_system(body: dict[str, Any]) -> Iterator[Violation]:
    """A system prompt is a text or text blocks, and says something."""
    system = body.get("system")
    if system is None and "system" not in body:
        return
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    if not isinstance(blocks, list) or not all(map(_says_something, blocks)):
        problem = "it is no text and no list of text blocks, or some of it is blank"
        yield Violation(rule=Rule.SYSTEM, path="system", problem=problem)


def _says_something(block: Any) -> bool:
    if not isinstance(block, dict) or block.get("type") != "text":
        return False
    text = block.get("text")
    return isinstance(text, str) and bool(text.strip())


def check_tools(body: dict[str, Any]) -> Iterator[Violation]:
    """Tools are defined, each once."""
    tools = body.get("tools", [])
    if not isinstance(tools, list):
        yield Violation(rule=Rule.TOOLS, path="tools", problem="it is no list")
        return
    names: set[str] = set()
    for number, tool in enumerate(tools):
        problem = _wrong_with(tool, names)
        if problem:
            yield Violation(rule=Rule.TOOLS, path=f"tools[{number}]", problem=problem)


def _wrong_with(tool: Any, names: set[str]) -> str:
    """What is wrong with a tool's definition; its name is added to those that are taken."""
    if not isinstance(tool, dict):
        return "it is no object"
    name = tool.get("name")
    is_custom = tool.get("type") in (None, "custom")
    if name is None and not is_custom:
        return ""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "no tool has such a name"
    if name in names:
        return "a tool before it has this name"
    names.add(name)
    schema = tool.get("input_schema")
    if is_custom and (not isinstance(schema, dict) or schema.get("type") != "object"):
        return "its input_schema is not that of an object"
    return ""


def check_cache(body: dict[str, Any], turns: Sequence[Turn]) -> Iterator[Violation]:
    """Cache breakpoints are four at most, and none is on thinking."""
    marked = [item for name in ("tools", "system") for item in _items(body.get(name)) if _is_marked(item)]
    count = len(marked)
    for turn in turns:
        for located in turn.blocks:
            within = inner(located) if located.type == "tool_result" else []
            count += sum(_is_marked(each.block) for each in (located, *within))
            if located.type in THINKING and _is_marked(located.block):
                problem = "there can be no breakpoint on thinking"
                yield Violation(rule=Rule.CACHE_BREAKPOINTS, path=located.path, problem=problem)
    if count > _MOST_BREAKPOINTS:
        yield Violation(rule=Rule.CACHE_BREAKPOINTS, path="", problem=f"there are {count} breakpoints")


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_marked(item: Any) -> bool:
    return isinstance(item, dict) and item.get("cache_control") is not None
