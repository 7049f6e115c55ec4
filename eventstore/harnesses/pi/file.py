"""Parse pi's session files, versions 1 to 3: header and lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from eventstore.event import EventFacts, Flag, NewEvent
from eventstore.facts import facts_of_node
from eventstore.harnesses.lines import REPEAT, TOO_DEEP, TORN, count_type, objects_in, trimmed
from eventstore.harnesses.names import is_name, is_reserved, stored_id
from eventstore.harnesses.pi.dialects import IN_ORDER, NAMED, PI, Dialect
from eventstore.harnesses.pi.entry import Entry, entry_of
from eventstore.harnesses.pi.plain import measure, plain_parts
from eventstore.javascript import DEEPEST_RECORD, TooDeepError, epoch_ms, is_deeper

if TYPE_CHECKING:
    from eventstore.harnesses.source import SeenRecords

_LONGEST_QUOTE: Final = 40
_SETS_MODEL: Final = int(Flag.SETS_MODEL)
_SPREAD: Final = 0x9E3779B1
"""Odd, so that multiplication permutes the 32-bit numbers and minted ids are unique."""


class LineContents(msgspec.Struct, frozen=True):
    """The contents of a line: events with their spans, and the bytes that are no record.

    `differs` are lines, this or earlier ones, that pi reads differently, with the difference.
    """

    number: int
    records: list[tuple[int, int, NewEvent]]
    skipped: list[str]
    differs: list[tuple[int, str]]


class PiHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The header of a file: `raw` as written ("{}" for none), `line` its line (0 for none).

    `differs` says how pi reads a file with an invalid header.
    """

    raw: bytes
    session: str
    version: int
    line: int
    differs: str = ""


class PiReader:
    """Read a file's lines, including the header's.

    `state` continues an earlier reading. `is_known` tells if an earlier import brought an id. `earlier`
    returns the bytes of the record with an id in lines that are not read again, if there is one; None if there are no
    such lines. `unknown` counts the records of unknown types so far.
    """

    def __init__(
        self,
        header: PiHeader,
        seen: SeenRecords,
        dialect: Dialect = PI,
        *,
        state: dict[str, Any] | None = None,
        is_known: Callable[[str], bool] = lambda _: False,
        earlier: Callable[[str], bytes | None] | None = None,
    ) -> None:
        self._header, self._dialect = header, dialect
        self._format = f"{dialect.harness}/{header.version}"
        self._place_of_all = IN_ORDER if header.version == 1 else NAMED
        self._base = int.from_bytes(sha256(header.session.encode()).digest()[:4], "big")
        state = state or {}
        self._records: int = state.get("records", 0)
        self._unseen_by_pi: list[int] = list(state.get("unseenByPi", []))
        self._headers: list[int] = list(state.get("headers", []))
        self._last: str | None = state.get("last")
        self._awaited: dict[str, list[int]] = {
            name: list(at) for name, at in state.get("awaited", {}).items()
        }
        self._repeated: int = state.get("repeated", 0)
        self.unknown: dict[str, int] = dict(state.get("unknown", {}))
        self._seen = seen
        self._copies = Counter[str]()
        self._was_known = is_known
        self._earlier = earlier

    @property
    def state(self) -> dict[str, Any]:
        """The data that another reader needs to continue after the lines read so far."""
        return {
            "records": self._records,
            "unseenByPi": list(self._unseen_by_pi),
            "headers": list(self._headers),
            "last": self._last,
            "awaited": {name: list(at) for name, at in self._awaited.items()},
            **({"repeated": self._repeated} if self._repeated else {}),
            **({"unknown": dict(self.unknown)} if self.unknown else {}),
        }

    @property
    def records(self) -> int:
        """The number of records read so far."""
        return self._records

    @property
    def repeated(self) -> int:
        """The line of an earlier record's repeat at the end of the file so far, 0 for none.

        pi continues from the last record, even if it is a repeat.
        """
        return self._repeated

    @property
    def orphans(self) -> list[tuple[int, str]]:
        """Lines of records whose parent has not come yet, with the parent's id, in order."""
        return sorted((at, parent) for parent, lines in self._awaited.items() for at in lines)

    def plain(self, body: bytes, offset: int) -> NewEvent | None:
        """Return the event of a line at an offset if it is one message as pi writes it.

        The line comes without its end. Return None for any other line, and for one that needs a remark: `line`
        reads every line, with the same result.
        """
        parts = plain_parts(body)
        place = None if parts is None else self._plain_place(parts[0], parts[1])
        if parts is None or place is None:
            return None
        _, _, timestamp, start, stop = parts
        try:
            measured = measure(body[start:stop])
            if not body.isascii():
                body.decode()
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        if measured is None:
            return None
        role, size = measured
        # Each level of nesting takes two bytes outside of texts.
        if len(body) - size.text_bytes > 2 * DEEPEST_RECORD and is_deeper(body, DEEPEST_RECORD):
            return None
        utf16, utf8 = size.estimates
        time = epoch_ms(timestamp.decode())
        sets_model = role == "assistant" and self._dialect.sets_model
        event_id, parent = place
        self._records += 1
        self._last, self._repeated = event_id, 0
        self._seen[event_id] = offset
        return NewEvent(
            id=event_id,
            kind="message",
            body=body,
            format=self._format,
            parent=parent,
            time=time,
            facts=EventFacts(
                role=role,
                message=(start, stop),
                utf16=utf16,
                utf8=utf8,
                flags=_SETS_MODEL if sets_model else 0,
            ),
            place=self._place_of_all,
        )

    def _plain_place(self, own: bytes | None, above: bytes | None) -> tuple[str, str | None] | None:
        """Return id and parent of the next record if they need no remark."""
        if self._header.version == 1:
            return (self._minted(self._records + 1), None) if own is None else None
        if own is None:
            return None
        event_id = own.decode()
        if event_id in self._awaited or is_reserved(event_id) or self._is_taken(event_id):
            return None
        if above is None:
            return event_id, None
        parent = above.decode()
        return (event_id, parent) if parent in self._seen else None

    def line(self, number: int, line: bytes, offset: int) -> LineContents:
        """Return the events of a line at an offset of the file; never raise.

        Bytes that are no record are *skipped*.
        """
        start, text = trimmed(line)
        found = LineContents(number, [], [], [])
        if self._copies:
            self._copies.clear()
        if not text:
            return found
        try:
            spans, is_alone = self._entries(number, line, text, found)
        except Exception as error:  # noqa: BLE001  no line may keep the others from being read
            found.skipped.append(_unreadable(error))
            return found
        for first, last, entry in spans:
            if entry.type == "session":
                self._session_header(number, found, is_alone=is_alone)
                continue
            body = text[first:last]
            if is_deeper(body, DEEPEST_RECORD):
                found.skipped.append(TOO_DEEP)
                continue
            try:
                kind, facts, time = self._read(body, entry)
            except Exception as error:  # noqa: BLE001  no record may keep the others from being read
                found.skipped.append(_unreadable(error))
                continue
            own = stored_id(entry.id) if isinstance(entry.id, str) else None
            if own is not None and self._is_repeat(body, own):
                found.skipped.append(REPEAT)
                if is_alone:
                    self._repeated = number if own != self._last else 0
                continue
            event_id, parent, facts = self._place(found, kind, body, entry, facts, own=own, is_alone=is_alone)
            self._seen[event_id] = offset + start + first
            event = NewEvent(
                id=event_id,
                kind=kind,
                body=body,
                format=self._format,
                parent=parent,
                time=time,
                facts=facts,
                place=self._place_of_all,
            )
            found.records.append((start + first, start + last, event))
        return found

    def _entries(
        self, number: int, line: bytes, text: bytes, found: LineContents
    ) -> tuple[list[tuple[int, int, Entry]], bool]:
        """Return a line's entries, and True if it is exactly one entry, as pi requires."""
        try:
            return self._without_slot(number, [(0, len(text), entry_of(text))], found), True
        except msgspec.DecodeError:
            objects, problem = objects_in(text, self._dialect)
        entries = [(first, last, entry_of(text[first:last])) for first, last, _ in objects]
        spans = self._without_slot(number, entries, found)
        if not spans and not line.endswith(b"\n"):
            problem = TORN
        if problem:
            found.skipped.append(problem)
        if spans:
            what = "a record that shares its line" if len(spans) == 1 else f"{len(spans)} records in one line"
            reads_first = self._dialect.reads_first and not spans[0][0]
            how_much = "only the first" if reads_first else "nothing of this line"
            found.differs.append((number, f"{what}: {self._dialect.harness} reads {how_much}"))
        return spans, False

    def _without_slot(
        self, number: int, entries: list[tuple[int, int, Entry]], found: LineContents
    ) -> list[tuple[int, int, Entry]]:
        """Remove titles, which are no records, from a line's entries."""
        slot = self._dialect.slot
        if not slot:
            return entries
        kept = [each for each in entries if each[2].type != slot]
        in_place = number == 1 and entries[0][2].type == slot if entries else False
        found.skipped.extend(
            ["a title that is not at the beginning of the file"] * (len(entries) - len(kept) - in_place)
        )
        return kept

    def _session_header(self, number: int, found: LineContents, *, is_alone: bool) -> None:
        if number == self._header.line and not self._headers and not found.records:
            return
        found.skipped.append("a second session header")
        if is_alone:
            self._headers.append(self._last_index() + 1)

    def _read(self, body: bytes, entry: Entry) -> tuple[str, EventFacts, int | None]:
        """Return a record's kind, facts and time; do not change the reader if this fails."""
        kind = self._dialect.kind(entry.type)
        node = self._dialect.node(self._format, kind, entry)
        return kind, facts_of_node(node, kind, body), epoch_ms(entry.timestamp)

    def _place(
        self,
        found: LineContents,
        kind: str,
        body: bytes,
        entry: Entry,
        facts: EventFacts,
        *,
        own: str | None,
        is_alone: bool,
    ) -> tuple[str, str | None, EventFacts]:
        """Return the next record's id, parent, and facts that depend on its place.

        `own` is its own id in the log, None if it has none.
        """
        flags = 0
        self._records += 1
        if not self._dialect.is_type(entry.type):
            count_type(self.unknown, entry.type)
        if not is_alone:
            self._unseen_by_pi.append(self._records)
        if self._header.version == 1:
            event_id, parent = self._minted(self._records), None
        else:
            event_id, parent, flags = self._identity(found, body, entry, own)
            found.differs.extend([(found.number, problem) for problem in self._problems(kind, entry)])
        is_by_place = self._header.version == 1 and kind == "compaction"
        target = self._kept_by_index(entry) if is_by_place else facts.target
        self._last, self._repeated = event_id, 0
        if own is not None and entry.id in self._awaited:
            del self._awaited[entry.id]
        if flags or target != facts.target:
            facts = msgspec.structs.replace(facts, flags=facts.flags | flags, target=target)
        return event_id, parent, facts

    def _problems(self, kind: str, entry: Entry) -> list[str]:
        """Return what is wrong with the fields of a record that is kept all the same."""
        problems = []
        if kind == "message" and entry.message is not UNSET and bytes(entry.message) == b"null":
            problems.append("its message is null, so contexts do not show it")
        parent, kept = entry.parentId, entry.firstKeptEntryId
        if parent is not UNSET and parent is not None and not (isinstance(parent, str) and is_name(parent)):
            problems.append(f"its parentId is {_short(parent)}, which is not an id: contexts start here")
        if (
            kind == "compaction"
            and isinstance(kept, str)
            and kept
            and not (is_name(kept) and self._is_known(stored_id(kept)))
        ):
            problems.append(
                f"its firstKeptEntryId is {_short(kept)}, which names no record above: it keeps no messages"
            )
        return problems

    def _minted(self, record: int) -> str:
        """Return the id of a version 1 record: eight hex digits of session id and place."""
        return f"{(self._base + record * _SPREAD) & 0xFFFFFFFF:08x}"

    def _kept_by_index(self, entry: Entry) -> str | None:
        """Return the id of a version 1 compaction's first kept entry.

        Its index counts from the header.
        """
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
        """Return the index of the newest line that pi parses."""
        return self._records - len(self._unseen_by_pi) + len(self._headers)

    def _identity(
        self, found: LineContents, body: bytes, entry: Entry, own: str | None
    ) -> tuple[str, str | None, int]:
        """Return id and parent of a record of versions 2 and 3; an invalid one is an orphan root."""
        parent = stored_id(entry.parentId) if isinstance(entry.parentId, str) else entry.parentId
        if own is None or not is_name(own):
            digest = sha256(b"%d " % found.number + self._header.session.encode() + b" " + body).hexdigest()
            own = self._free(f"noid-{digest[:16]}", found.number)
        elif self._is_taken(own):
            found.differs.append(
                (
                    found.number,
                    f"id {entry.id!r} is taken: {self._dialect.harness} shows this record in place of the other",
                )
            )
            return self._free(own, found.number), None, Flag.ORPHAN
        if parent is None:
            return own, None, 0
        if not isinstance(parent, str) or not is_name(parent):
            return own, None, Flag.ORPHAN
        if parent == own:
            found.differs.append((found.number, "it is its own parent: pi never finishes reading its path"))
        elif not self._is_known(parent):
            # By the file's own id, which the remark quotes.
            self._awaited.setdefault(entry.parentId, []).append(found.number)
        return own, parent, 0

    def _free(self, event_id: str, number: int) -> str:
        """Return an unused id: this one, else `ID~LINE`, `ID~LINE.2` and so on."""
        free = event_id
        while self._is_taken(free):
            # Continue counting: one line may hold thousands of records with the same id.
            self._copies[event_id] += 1
            nth = self._copies[event_id]
            free = f"{event_id}~{number}" if nth == 1 else f"{event_id}~{number}.{nth}"
        return free

    def _is_repeat(self, body: bytes, own: str) -> bool:
        """Return True if the record with this id has these bytes."""
        if self._header.version == 1:
            return False
        if own in self._seen:
            return self._seen.is_repeat(own, body)
        return self._earlier is not None and is_name(own) and self._earlier(own) == body

    def _is_known(self, event_id: str) -> bool:
        return event_id in self._seen or self._was_known(event_id)

    def _is_taken(self, event_id: str) -> bool:
        if event_id in self._seen:
            return True
        return self._earlier is not None and self._earlier(event_id) is not None


def _short(value: Any) -> str:
    """Return a value of a record as JSON, cut to one line."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"


def _unreadable(error: Exception) -> str:
    is_too_deep = isinstance(error, RecursionError | TooDeepError)
    return TOO_DEEP if is_too_deep else f"cannot be read ({type(error).__name__})"
