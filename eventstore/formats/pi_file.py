"""pi's session files, versions 1 to 3: reading lines into events.

A file is a header line and an entry a line. Version 1 has neither ids nor parents: each entry is the
child of the one before, and a compaction names its first kept entry by its place in the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

import msgspec

from eventstore.errors import BadInputError
from eventstore.event import Flag, NewEvent
from eventstore.formats.pi_entry import Entry, entry_of, facts_of, tolerant_json
from eventstore.javascript import epoch_ms, parse_at
from eventstore.kinds import CODE_OF_KIND

NAME: Final = "pi"
NEWEST_VERSION: Final = 3
KINDS: Final = frozenset(
    {
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom_message",
        "custom",
        "label",
        "session_info",
    }
)
"""The entry types that pi itself writes."""

BLANK: Final = b" \t\r\n"
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
BOM: Final = b"\xef\xbb\xbf"
_LONGEST_NAME: Final = 60_000
"""Bytes of UTF-8; leaves room in an id for what sets it apart from one that is taken."""
_SPREAD: Final = 0x9E3779B1
"""Odd, so that multiplying by it permutes the 32-bit numbers: minted ids cannot meet."""


class PiHeader(msgspec.Struct, frozen=True):
    """A session file's first line: `raw` as it came, the session's id and the file's version."""

    raw: bytes
    session: str
    version: int


class Line(msgspec.Struct, frozen=True):
    """What one line of a file held: its events with their spans in the line, and what of it is no record."""

    number: int
    records: list[tuple[int, int, NewEvent]]
    skipped: list[str]


def header_of(line: bytes, source: str) -> PiHeader | None:
    """The header that a line is; None where it is none. Raises BadInputError for a header that names no session."""
    text = line.removeprefix(BOM).strip(BLANK)
    try:
        decoded = tolerant_json(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(decoded, dict) or decoded.get("type") != "session":
        return None
    session, version = decoded.get("id"), decoded.get("version")
    if not isinstance(session, str) or not session:
        raise BadInputError(
            source, "the session header has no id", 'add one ("id": any text), then import again', line=1
        )
    if not is_name(session):
        raise BadInputError(
            source, "the session header's id is no text", "give it another, then import again", line=1
        )
    if version is None:
        version = 1
    if version not in (1, 2, 3) or isinstance(version, bool):
        raise BadInputError(
            source,
            f"pi session version {json.dumps(version)} is unknown",
            "this refold reads versions 1 to 3",
            line=1,
        )
    return PiHeader(text, session, int(version))


class PiReader:
    """Reads the lines behind a header. `is_known` tells of ids that earlier imports have brought.

    `state` continues an earlier reading: how many records it met, and which of them pi passes over.
    """

    def __init__(
        self,
        header: PiHeader,
        *,
        state: dict[str, Any] | None = None,
        is_known: Callable[[str], bool] = lambda _: False,
        is_taken: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._header = header
        self._format = f"pi/{header.version}"
        self._base = int.from_bytes(sha256(header.session.encode()).digest()[:4], "big")
        state = state or {}
        self._records: int = state.get("records", 0)
        self._unseen_by_pi: list[int] = list(state.get("unseenByPi", []))
        self._headers: list[int] = list(state.get("headers", []))
        self._last: str | None = state.get("last")
        self._ids: set[str] = set()
        self._was_known = is_known
        self._was_taken = is_taken

    @property
    def state(self) -> dict[str, Any]:
        """What another reader needs to go on behind the lines read so far."""
        return {
            "records": self._records,
            "unseenByPi": list(self._unseen_by_pi),
            "headers": list(self._headers),
            "last": self._last,
        }

    @property
    def records(self) -> int:
        """How many records the file has had so far."""
        return self._records

    def line(self, number: int, line: bytes) -> Line:
        """A line's events. Nothing raises: what is no record is said to be so."""
        start = len(line) - len(line.removeprefix(BOM).lstrip(BLANK))
        stop = len(line.rstrip(BLANK))
        text = line[start:stop] if stop > start else b""
        if not text:
            return Line(number, [], [])
        skipped: list[str] = []
        try:
            spans, is_single = [(0, len(text), entry_of(text))], True
        except msgspec.DecodeError:
            spans, skipped = _objects_in(text)
            is_single = False
            if not spans and not line.endswith(b"\n"):
                skipped = ["the file ends inside this record"]
        records = []
        for first, last, entry in spans:
            if entry.type == "session":
                skipped.append("a second session header")
                if is_single:
                    self._headers.append(self._last_index() + 1)
                continue
            body = text[first:last]
            try:
                event = self._event(number, body, entry, is_single)
            except RecursionError:
                skipped.append("nested too deeply")
            else:
                records.append((start + first, start + last, event))
        return Line(number, records, skipped)

    def _event(self, number: int, body: bytes, entry: Entry, is_seen_by_pi: bool) -> NewEvent:  # noqa: FBT001
        kind = _kind(entry.type)
        facts = facts_of(kind, body, entry, renames_hook_role=self._header.version < NEWEST_VERSION)
        flags = Flag(0)
        self._records += 1
        if not is_seen_by_pi:
            self._unseen_by_pi.append(self._records)
        if self._header.version == 1:
            event_id, parent = self._minted(self._records), self._last
        else:
            event_id, parent, flags = self._identity(number, body, entry)
        target = (
            self._kept_by_index(entry) if self._header.version == 1 and kind == "compaction" else facts.target
        )
        self._ids.add(event_id)
        self._last = event_id
        return NewEvent(
            id=event_id,
            kind=kind,
            body=body,
            format=self._format,
            parent=parent,
            time=epoch_ms(entry.timestamp),
            facts=msgspec.structs.replace(facts, flags=facts.flags | flags, target=target),
        )

    def _minted(self, record: int) -> str:
        """The id of a version 1 record: eight hex digits, as pi's own, from the session's id and the record's place."""
        return f"{(self._base + record * _SPREAD) & 0xFFFFFFFF:08x}"

    def _kept_by_index(self, entry: Entry) -> str | None:
        """The id of a version 1 compaction's first kept entry; its index counts what pi parses, the header as 0."""
        index = entry.firstKeptEntryIndex
        if isinstance(index, float) and index.is_integer():
            index = int(index)
        if isinstance(index, bool) or not isinstance(index, int) or index < 1 or index in self._headers:
            return None
        record = index - sum(header < index for header in self._headers)
        for unseen in self._unseen_by_pi:
            record += unseen <= record
        return self._minted(record) if record < self._records else None

    def _last_index(self) -> int:
        """The place of the newest line in what pi parses."""
        return self._records - len(self._unseen_by_pi) + len(self._headers)

    def _identity(self, number: int, body: bytes, entry: Entry) -> tuple[str, str | None, Flag]:
        own, parent = entry.id, entry.parentId
        if not isinstance(own, str) or not is_name(own):
            digest = sha256(b"%d " % number + self._header.session.encode() + b" " + body).hexdigest()
            own = f"noid-{digest[:16]}"
        elif self._is_taken(own):
            while self._is_taken(own):
                own = f"{own}~{number}"
            return own, None, Flag.ORPHAN
        if parent is None:
            return own, None, Flag(0)
        if isinstance(parent, str) and parent != own and self._is_known(parent):
            return own, parent, Flag(0)
        return own, None, Flag.ORPHAN

    def _is_known(self, event_id: str) -> bool:
        return event_id in self._ids or self._was_known(event_id)

    def _is_taken(self, event_id: str) -> bool:
        return event_id in self._ids or self._was_taken(event_id)


def is_name(text: str) -> bool:
    """Whether a text can name something in a log: not empty, not endless, and without lone surrogates."""
    try:
        return 0 < len(text.encode()) <= _LONGEST_NAME
    except UnicodeEncodeError:
        return False


def _kind(type_: Any) -> str:
    """The kind of an entry; a type that pi does not know, but refold does, is kept apart from refold's own."""
    if not isinstance(type_, str) or not is_name(type_):
        return "untyped"
    return f"pi:{type_}" if type_ in CODE_OF_KIND and type_ not in KINDS else type_


def _objects_in(text: bytes) -> tuple[list[tuple[int, int, Entry]], list[str]]:
    """The JSON objects that stand in a line without a line end between them, and what else stands there."""
    # surrogateescape makes every byte sequence a string whose pieces have known lengths in bytes.
    decoded = text.decode("utf-8", "surrogateescape")
    at = offset = 0
    spans: list[tuple[int, int, Entry]] = []
    while at < len(decoded):
        try:
            value, end = parse_at(decoded, at)
        except (ValueError, RecursionError):
            where = "not JSON" if not spans else f"not JSON from byte {offset + 1} of the line on"
            return spans, [where]
        size = len(decoded[at:end].encode("utf-8", "surrogateescape"))
        if not isinstance(value, dict):
            return spans, ["JSON, but not an object"]
        spans.append((offset, offset + size, entry_of(text[offset : offset + size])))
        match = _BLANKS.match(decoded, end)
        blank = len(match[0]) if match else 0
        at, offset = end + blank, offset + size + blank
    return spans, []
