"""Rules of who speaks when, and of calls and their results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from projections.validators.anthropic.blocks import Located, Turn
from projections.validators.anthropic.fields import SERVER_RESULTS
from projections.validators.anthropic.rules import Rule
from projections.validators.violation import Violation

_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_SERVER_TOOL_ID: Final = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_SERVER_TOOLS: Final = frozenset(
    """
    web_search web_fetch code_execution bash_code_execution text_editor_code_execution
    tool_search_tool_regex tool_search_tool_bm25
    """.split()
)


def check_order(turns: Sequence[Turn]) -> Iterator[Violation]:
    """The user begins, then both speak in turn."""
    first = turns[0]
    if first.role != "user" and not _stands_for_what_came_before(first.blocks[0]):
        yield Violation(
            rule=Rule.FIRST_MESSAGE, path=first.path, problem="the first message is the assistant's"
        )
    for before, turn in pairwise(turns):
        if turn.role == before.role:
            problem = f"two messages of the {turn.role}'s follow each other"
            yield Violation(rule=Rule.ALTERNATION, path=turn.path, problem=problem)


def _stands_for_what_came_before(first: Located) -> bool:
    return first.type == "compaction" and bool(first.block["content"])


def check_names(turns: Sequence[Turn]) -> Iterator[Violation]:
    """Ids and names of calls are spelled as the API spells them, and no id is there twice."""
    taken: set[str] = set()
    for turn in turns:
        for call in _of_type(turn, "tool_use"):
            call_id = call.block["id"]
            if not _CALL_ID.fullmatch(call_id):
                yield Violation(
                    rule=Rule.CALL_ID, path=f"{call.path}.id", problem="no id has such characters"
                )
            if not _TOOL_NAME.fullmatch(call.block["name"]):
                path = f"{call.path}.name"
                yield Violation(rule=Rule.TOOL_NAME, path=path, problem="no tool has such a name")
            if call_id in taken:
                path = f"{call.path}.id"
                yield Violation(rule=Rule.DUPLICATE_CALL_ID, path=path, problem="a call before has this id")
            taken.add(call_id)


def check_results(turns: Sequence[Turn]) -> Iterator[Violation]:
    """Every call is answered once, in the very next message, before anything else is said there."""
    around = [None, *turns, None]
    for before, turn, after in zip(around, turns, around[2:], strict=False):
        yield from _answers(turn, before)
        answered = {result.block["tool_use_id"] for result in _of_type(after, "tool_result")}
        for call in _of_type(turn, "tool_use"):
            if call.block["id"] not in answered:
                problem = "the next message has no result of this call"
                yield Violation(rule=Rule.MISSING_RESULT, path=call.path, problem=problem)


def _answers(turn: Turn, before: Turn | None) -> Iterator[Violation]:
    called = {call.block["id"] for call in _of_type(before, "tool_use")}
    answered: set[str] = set()
    for place, result in enumerate(turn.blocks):
        if result.type != "tool_result":
            continue
        call_id = result.block["tool_use_id"]
        if call_id not in called:
            problem = "the message before has no call of this id"
            yield Violation(rule=Rule.ORPHAN_RESULT, path=result.path, problem=problem)
        if call_id in answered:
            problem = "the call has a result before this one"
            yield Violation(rule=Rule.DUPLICATE_RESULT, path=result.path, problem=problem)
        answered.add(call_id)
        if place and turn.blocks[place - 1].type != "tool_result":
            problem = "something else stands before a result"
            yield Violation(rule=Rule.RESULT_ORDER, path=result.path, problem=problem)


def check_errors(turns: Sequence[Turn]) -> Iterator[Violation]:
    """A failed call's result says something."""
    for turn in turns:
        for result in _of_type(turn, "tool_result"):
            if result.block.get("is_error") and not result.block.get("content"):
                problem = "a failed call's result is empty"
                yield Violation(rule=Rule.EMPTY_ERROR, path=result.path, problem=problem)


def check_server_tools(turns: Sequence[Turn]) -> Iterator[Violation]:
    """A server tool's call and its result stand in one message, the call first; ids and names are the API's."""
    for turn in turns:
        waiting: dict[str, str] = {}
        for located in turn.blocks:
            if located.type == "server_tool_use":
                yield from _spelling(located)
                waiting[located.block["id"]] = located.path
            elif located.type in SERVER_RESULTS and not waiting.pop(located.block["tool_use_id"], ""):
                problem = "no server tool's call before it has this id"
                yield Violation(rule=Rule.SERVER_TOOL, path=located.path, problem=problem)
        for path in waiting.values():
            yield Violation(rule=Rule.SERVER_TOOL, path=path, problem="its result is not in the same message")


def _spelling(call: Located) -> Iterator[Violation]:
    if not _SERVER_TOOL_ID.fullmatch(call.block["id"]):
        problem = "no server tool's call has such an id"
        yield Violation(rule=Rule.SERVER_TOOL, path=f"{call.path}.id", problem=problem)
    if call.block["name"] not in _SERVER_TOOLS:
        problem = "no server tool has this name"
        yield Violation(rule=Rule.SERVER_TOOL, path=f"{call.path}.name", problem=problem)


def _of_type(turn: Turn | None, type_: str) -> list[Located]:
    return [located for located in turn.blocks if located.type == type_] if turn else []
