"""Pair calls with their outputs, as the API demands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from projections.requests.anthropic.repairs import RepairRule, Repairs
from projections.requests.anthropic.tool_calls import CallIds, tool_name
from projections.requests.openai.items import CALL, OUTPUT, REASONING, Item, text_part, user_message

LONGEST_TOOL_NAME: Final = 64
_NO_RESULT: Final = "[no result of this call was recorded]"
_OUTPUT_OF: Final = {
    CALL: OUTPUT,
    "local_shell_call": OUTPUT,
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
}


def paired(items: Iterable[Item], repairs: Repairs) -> list[Item]:
    """Return items in which each call has one output behind it, and each output a call.

    A call waits for its output until the model says something else. One that none came for gets one that says so,
    directly behind it; an output without a call becomes a user's text. Reasoning that nothing follows is left out.
    """
    pairing = _Pairing(repairs)
    for item in items:
        if item.is_call:
            pairing.call(item)
        elif item.is_output:
            pairing.output(item)
        else:
            pairing.other(item)
    return pairing.end()


class _Pairing:
    def __init__(self, repairs: Repairs) -> None:
        self._repairs = repairs
        self._found: list[Item] = []
        self._ids = CallIds()
        self._waiting: dict[str, int] = {}
        self._answered: set[str] = set()

    def call(self, item: Item) -> None:
        note, recorded = self._repairs.of(item.event), item.call_id
        changes: dict[str, Any] = {}
        if (sent := self._ids.take(recorded, note)) != recorded:
            changes["call_id"] = sent
        name = item.fields.get("name")
        if isinstance(name, str) and (plain := tool_name(name, note)[:LONGEST_TOOL_NAME]) != name:
            changes["name"] = plain
        if recorded in self._waiting:
            self._answer_the_waiting()
        self._waiting[recorded] = len(self._found)
        self._found.append(item.changed(**changes) if changes else item)

    def output(self, item: Item) -> None:
        place = self._waiting.pop(item.call_id, None)
        if place is not None:
            self._answered.add(item.call_id)
            sent = self._found[place].call_id
            self._found.append(item if sent == item.call_id else item.changed(call_id=sent))
            return
        is_second = item.call_id in self._answered
        rule = RepairRule.DUPLICATE_RESULT if is_second else RepairRule.ORPHAN_RESULT
        self._repairs.of(item.event)(rule, "the result is sent as text")
        output = item.fields.get("output")
        content = [text_part("Result of an earlier call:")]
        content += output if isinstance(output, list) else [text_part(str(output or ""))]
        self._found.append(user_message(item.event, [part for part in content if part.get("text") != ""]))

    def other(self, item: Item) -> None:
        if item.fields.get("role") == "assistant":
            self._answer_the_waiting()
        self._found.append(item)

    def end(self) -> list[Item]:
        self._answer_the_waiting()
        while self._found and self._found[-1].type == REASONING:
            gone = self._found.pop()
            self._repairs.of(gone.event)(
                RepairRule.FINAL_THINKING, "thinking that nothing follows is left out"
            )
        return self._found

    def _answer_the_waiting(self) -> None:
        for place in sorted(self._waiting.values(), reverse=True):
            call = self._found[place]
            note = self._repairs.of(call.event)
            note(RepairRule.MISSING_RESULT, f"a text stands in for the result of the call {call.call_id}")
            type_ = _OUTPUT_OF.get(call.type, OUTPUT)
            answer = {"type": type_, "call_id": call.call_id, "output": _NO_RESULT}
            self._found.insert(place + 1, Item(event=call.event, fields=answer))
        self._waiting = {}
