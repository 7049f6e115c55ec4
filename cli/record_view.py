"""How an event's record is shown to people: as JSON, but what somebody is to read of it as text."""

from __future__ import annotations

import json
from typing import Any, Final

from cli.output import one_line

_SUMMARIZED: Final = frozenset({"compaction", "branch_summary"})
"""Kinds of records that hold a summary, and beside it how it came about."""
_LONG: Final = 120


def record_text(kind: str, record: Any) -> str:
    """A record as JSON; of one that holds a summary, that as text behind a JSON in which other long texts are cut."""
    summary = record.get("summary") if kind in _SUMMARIZED and isinstance(record, dict) else None
    if not isinstance(summary, str):
        return _json(record)
    rest = {name: _cut(value) for name, value in record.items() if name != "summary"}
    return f"{_json(rest)}\n\nsummary, {len(summary):,} characters:\n\n{summary.strip()}"


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONG:
        return f"{one_line(value, _LONG).removesuffix('…')}… ({len(value):,} characters; --json has all)"
    if isinstance(value, list):
        return [_cut(each) for each in value]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return value


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
