"""Items that a damaged file holds are mended, or left out."""

from __future__ import annotations

from typing import Any

import pytest

from projections.requests.openai.items import Item
from projections.requests.openai.recorded import mended
from projections.requests.repairs import Repairs
from tests.support.pictures import base64, png

CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "done"}
SAID = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
PICTURE = {"type": "input_image", "image_url": f"data:image/png;base64,{base64(png())}"}


def mend(fields: dict[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    repairs = Repairs([])
    found = mended(Item(event="e1", fields=fields, recorded=b"{}"), repairs.of("e1"))
    return found and found.fields, [repair.rule for repair in repairs.made]


@pytest.mark.parametrize(
    "fields",
    [CALL, OUTPUT, SAID, {**SAID, "content": [PICTURE]}, {"type": "compaction", "encrypted_content": "x"}],
)
def test_sound_items_stay(fields: dict[str, Any]) -> None:
    assert mend(fields) == (fields, [])


@pytest.mark.parametrize(
    ("fields", "changed", "rules"),
    [
        ({**CALL, "arguments": '{"a'}, {"arguments": "{}"}, ["arguments"]),
        ({"type": "function_call", "call_id": "c1"}, {"name": "", "arguments": "{}"}, []),
        ({"type": "custom_tool_call", "call_id": "c1", "name": "x"}, {"input": ""}, []),
        ({"type": "function_call_output", "call_id": "c1"}, {"output": ""}, []),
        ({**OUTPUT, "output": [{"type": "input_text"}]}, {"output": ""}, ["block"]),
        ({**SAID, "content": [*SAID["content"], {"type": "a"}]}, {"content": SAID["content"]}, ["block"]),
    ],
)
def test_damaged_items_are_mended(fields: dict[str, Any], changed: dict[str, Any], rules: list[str]) -> None:
    assert mend(fields) == ({**fields, **changed}, rules)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({**CALL, "call_id": None}, "block"),
        ({**SAID, "role": "usr"}, "unknown-role"),
        ({**SAID, "content": 3}, "empty-message"),
        ({**SAID, "content": [{**PICTURE, "image_url": "data:image/png;base64,%"}]}, "empty-message"),
        ({"type": "reasoning", "summary": "x"}, "block"),
    ],
)
def test_others_are_left_out(fields: dict[str, Any], rule: str) -> None:
    found, rules = mend(fields)
    assert (found, rules[-1]) == (None, rule)
