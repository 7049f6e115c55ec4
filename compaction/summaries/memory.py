"""Notes that a session keeps on itself, as a summary that is there already."""

from __future__ import annotations

from collections.abc import Iterable

from eventstore.event import Event
from eventstore.javascript import tolerant_json


def notes_of(newest_first: Iterable[Event], memory: str) -> str:
    """The newest notes among entries since their last compaction, "" where there are none.

    Notes are `custom` entries of the type `memory` with a `text`; "" is no type.
    """
    for entry in newest_first if memory else ():
        if entry.kind == "compaction":
            return ""
        record = tolerant_json(entry.body) if entry.kind == "custom" else {}
        data = record.get("data")
        if (
            record.get("customType") == memory
            and isinstance(data, dict)
            and isinstance(data.get("text"), str)
        ):
            return str(data["text"])
    return ""
