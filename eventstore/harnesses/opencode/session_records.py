"""Read opencode's records: messages with their parts, and the events of its database.

A message of an export, or of the rows of a database, is `{"info": …, "parts": […]}`. The record of an event is its row,
`{"id", "seq", "type", "data"}`, and what else gives it a meaning: `info` is the newest one of the message that a part
belongs to; a compaction has the `parts` of its summary and what it was `asked`; messages that end a session's path are
removed `to` the entry before them. What a fork `copied` counts no tokens: its original has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from eventstore.javascript import tolerant_json

VERSION: Final = "opencode/2"
KEEPS_BEFORE: Final = "opencode/1"
"""Records of sessions begun before 1.14.41: a compaction's tail precedes its summary."""
_ROTATES: Final = (1, 14, 41)
_RELEASE: Final = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")
_MOST: Final = 1 << 63
_LATEST: Final = 8_640_000_000_000_000
_STAMPS: Final = 1 << 12
"""Units of the time in an id that a millisecond has."""
_STAMPED: Final = re.compile(r"msg_[0-9a-f]{12}[0-9A-Za-z]{14}")
_AGAIN: Final = 1 << 36
"""Milliseconds after which the times in ids begin anew."""
_A_DAY: Final = 86_400_000
AT_ONCE: Final = 100
"""Milliseconds between a message's time and its id, at most."""
DONE: Final = ("completed", "error")
"""The states of a call that has a result."""

Json = dict[str, Any]


def version_of(release: object) -> str:
    """Return the version of the records of a session that a release of opencode began."""
    found = _RELEASE.match(text(release))
    is_older = found is not None and tuple(map(int, found.groups())) < _ROTATES
    return KEEPS_BEFORE if is_older else VERSION


def fields_of(raw: bytes) -> Json:
    """Decode an object; anything else has no fields."""
    try:
        return fields(tolerant_json(raw))
    except msgspec.DecodeError:
        return {}


def fields(value: object) -> Json:
    """Return an object's fields; none for another value."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return the items of a list; none for another value."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """Return a text; "" for another value."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """Return a count or a time; 0 for another value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < _MOST else 0


class Record(msgspec.Struct, frozen=True):
    """A record of opencode's: parts with their message, or what else it tells.

    `info` is that of a message, `session` that of a session; `removed` names a message, and maybe a part of it. `asked`
    is the part that asked for a compaction.
    """

    info: Json = {}
    parts: tuple[Json, ...] = ()
    asked: Json = {}
    session: Json = {}
    removed: tuple[str, str] = ("", "")
    to: str = ""

    @property
    def message(self) -> str:
        """The id of the message."""
        return text(self.info.get("id"))

    @property
    def copied(self) -> bool:
        """True if a fork copied the message: the original's time, and an id that was made later."""
        is_stamped = bool(_STAMPED.fullmatch(self.message))
        return is_stamped and self.time is not None and made_later(self.message, self.time) > AT_ONCE

    @property
    def time(self) -> int | None:
        """The time of the message, in epoch milliseconds."""
        return time_of(self.info)


def record_of(raw: bytes) -> Record:
    """Return what a record says."""
    found = fields_of(raw)
    if "messages" in found or ("info" not in found and "type" not in found):
        return Record(session=found)
    parts, info = tuple(map(fields, items(found.get("parts")))), fields(found.get("info"))
    if "type" not in found:
        return Record(info, parts)
    kind, data = text(found["type"]).partition(".1")[0], fields(found.get("data"))
    if kind.startswith("session."):
        return Record(session=fields(data.get("info")))
    if kind.endswith(".removed"):
        return Record(
            removed=(text(data.get("messageID")), text(data.get("partID"))), to=text(found.get("to"))
        )
    info = info or fields(data.get("info"))
    if "asked" in found:
        return Record(info, parts, fields(found["asked"]))
    return Record(info, (fields(data["part"]),) if "part" in data else ())


def stamp(name: str) -> int:
    """Return the time in an id, in units of which a millisecond has 4,096; 0 for none."""
    try:
        return int(name.partition("_")[2][:12], 16)
    except ValueError:
        return 0


def made_later(name: str, time: int) -> int:
    """Return how many milliseconds after a time an id was made."""
    later = (stamp(name) // _STAMPS - time) % _AGAIN
    return later if later < _AGAIN - _A_DAY else later - _AGAIN


def time_of(info: Json) -> int | None:
    """Return when a message, part or session was made, in epoch milliseconds."""
    times = fields(info.get("time"))
    return moment(times.get("created")) or moment(times.get("start"))


def moment(value: object) -> int | None:
    """Return a time in epoch milliseconds that JavaScript knows, None for another value."""
    time = number(value)
    return time if 0 < time <= _LATEST else None


def is_done_summary(info: Json) -> bool:
    """Return True for an answer that is the summary of a compaction."""
    return info.get("summary") is True and bool(info.get("finish")) and not info.get("error")


def asking(parts: Iterable[Json]) -> Json:
    """Return the part of a message that asks for a compaction."""
    return next((part for part in parts if part.get("type") == "compaction"), {})


def is_done(part: Json) -> bool:
    """Return True for a part that is whole: a call with its result, a text that has ended."""
    if part.get("type") == "tool":
        return fields(part.get("state")).get("status") in DONE
    times = fields(part.get("time"))
    return "start" not in times or "end" in times


def is_cleared(part: Json) -> bool:
    """Return True for a call whose result is no longer sent."""
    return bool(fields(fields(part.get("state")).get("time")).get("compacted"))
