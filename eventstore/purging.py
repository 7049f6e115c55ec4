"""Take a leaked secret out of a store: put tombstones in the place of bodies that hold it.

A tombstone has the body's digest, so that the chain stays whole and another copy of the record is recognized
(`eventstore.chain`). It is the one way in which a store loses something.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from eventstore.append import head_of, place_all, placed_event
from eventstore.chain import body_digest, shown_of, tombstone
from eventstore.errors import BadInputError, CorruptionError
from eventstore.event import Event, NewEvent
from eventstore.files.glue import PURGED_PAYLOAD, segment_digests
from eventstore.frame import decode, header_only, written_in
from eventstore.harnesses import node_of
from eventstore.javascript import DEEPEST_RECORD, TooDeepError, is_deeper
from eventstore.lmdb.data_files import DATA_FILE
from eventstore.log import Head, Snapshot, StoredLog
from eventstore.records import Import, ObservedRewrite, embed, embedded, record_of
from eventstore.views import Text, Thinking, ToolCall

MARK: Final = "[purged]"
"""Stands where the text was."""
SHORTEST: Final = 6
"""Characters of the shortest text that can be purged: a shorter one stands in too much."""
_LONG: Final = 24
"""Characters of a line, or of its beginning, that tell where it comes from.

A shorter line goes from the sessions that have the message.
"""
_NAMED_BY: Final = 50
"""The longest lines of an event, by which files that hold it are found."""
_DEPTH: Final = 4
"""The number of texts of JSON that may lie in each other."""
_MADE: Final = frozenset(
    {"compaction", "branch_summary", "rewrite", "observed_rewrite", "note", "session_info"}
)
"""Kinds of a harness's events that are made from others."""
_OF_FILES: Final = frozenset({"message", "import", "link"})
"""Kinds of refold's own events that are not."""
_NAMES: Final = re.compile(r"type|role|state|outcome|relation|shape|(?:.*_)?(?:uu)?id|.*(?:Id|ID|Uuid|Type)")
"""Fields whose values say what a record is."""
_STARTS: Final = re.compile(r"(?<![^\W_])\S")
"""The places of a text where a word begins, or no word is."""

Why = Literal["named", "copy", "quotes", "holds"]


class PurgedEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event that loses its body.

    `why`: it was "named", is a "copy" of a named one, "quotes" a line of one, or "holds" the text. `is_whole`: nothing
    of the record stays; else only the text or the lines go.
    """

    session: str
    seq: int
    id: str
    kind: str
    why: Why
    is_whole: bool


class Purge(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a purge, and the position of the newest event that it knows of.

    `bodies` are by session and number, `payloads`, the bytes between records, by digest. `forms` are the ways in which
    the texts that go, and the longest lines of the events, may be written.
    """

    events: tuple[PurgedEvent, ...]
    bodies: Mapping[tuple[str, int], bytes]
    payloads: Mapping[bytes, bytes]
    forms: tuple[bytes, ...]
    position: int


def plan_purge(snapshot: Snapshot, *, text: str = "", named: Collection[tuple[str, int]] = ()) -> Purge:
    """Return what a purge would change in the whole store: of a text, of events, or of both.

    Events are `named` by session and number. A text goes wherever it stands. An event goes as a whole, with its copies
    in other sessions, and the lines of its messages go from what was made from it: summaries, rewrites, titles, notes.
    Raises BadInputError for a text that is too short, that stands in a name, or that cannot be cut out of one of
    refold's own records; NotFoundError for no such event.
    """
    if text and (len(text) < SHORTEST or text in f"{MARK} refoldPurged"):
        problem = f"a text must have at least {SHORTEST} characters, and be none of {MARK}"
        raise BadInputError(f"text {text!r}", problem, "name the events instead")
    whole = {key: decode(snapshot.frame(*key), key[0]) for key in named}
    for event in whole.values():
        if event.kind == "compaction" or (event.is_own and event.kind != "message"):
            raise _only_texts(event)
    near = {each for event in whole.values() for each in snapshot.sessions_with(event.id)}
    cut, made = _Cut([text] if text else []), _Made(text, whole.values(), near)
    found, bodies, payloads = list[PurgedEvent](), dict[tuple[str, int], bytes](), dict[bytes, bytes]()
    position = 0
    for item in snapshot.feed():
        event, position = decode(item.frame, item.session), item.position
        cut.check_names(event)
        if event.kind == "import":
            payloads |= made.payloads(snapshot, event, cut)
        body, why = made.without(event)
        if cut.stands_in(body):
            body, why = cut.without(event, body), why or "holds"
        if why is None:
            continue
        made.add(event, why)
        bodies[event.session, event.seq] = body
        is_whole = why in {"named", "copy"} or shown_of(body) == b"{}"
        found.append(
            PurgedEvent(
                session=event.session, seq=event.seq, id=event.id, kind=event.kind, why=why, is_whole=is_whole
            )
        )
    return Purge(
        events=tuple(found),
        bodies=bodies,
        payloads=payloads,
        forms=(*cut.forms, *(made.forms if whole else ())),
        position=position,
    )


def purge(log: StoredLog, plan: Purge) -> None:
    """Put the tombstones in their places, and drop every cached result; nothing else changes.

    The numbers, ids, digests and times of all events stay. Raises StoreError, also if something was appended since the
    plan was made; then nothing has changed.
    """
    frames, heads = dict[tuple[str, int], bytes](), list[Head]()
    with log.snapshot() as snapshot:
        for session in sorted({session for session, _ in plan.bodies}):
            head = snapshot.head(session)
            made, after = _placed(snapshot, head, plan.bodies)
            frames |= made
            heads.append(after)
    log.replace(frames, heads, plan.payloads, plan.position)


def still_held(snapshot: Snapshot, place: str, forms: Sequence[bytes]) -> list[str]:
    """Return the paths of session files, and of stores beside this one, that hold a form.

    So does a path with it in its name. `place` is the store's folder. Unreadable files are left out.
    """
    files = [os.fsdecode(each.path) for each in snapshot.sources()]
    folder = Path(place).absolute()
    if folder.is_dir():
        files += [str(each) for each in folder.parent.glob(f"*/{DATA_FILE}") if each.parent != folder]
    return sorted({each for each in files if _has(os.fsencode(each), forms) or _holds(each, forms)})


def _has(data: bytes | mmap, forms: Sequence[bytes]) -> bool:
    return any(data.find(form) >= 0 for form in forms)


def _holds(path: str, forms: Sequence[bytes]) -> bool:
    try:
        with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return _has(data, forms) or (data[:16] == b"SQLite format 3\0" and _rows_hold(path, forms))
    except (OSError, ValueError):
        return False


def _rows_hold(path: str, forms: Sequence[bytes]) -> bool:
    """Return True if a value of a database holds a form; its file has long values in pieces."""
    import sqlite3  # noqa: PLC0415  most files are none

    with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = bytes
        with suppress(sqlite3.Error):
            for (table,) in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'"
            ).fetchall():
                name = table.decode().replace('"', '""')
                with suppress(sqlite3.Error):
                    for row in database.execute(f'SELECT * FROM "{name}"'):  # noqa: S608  a name in quotes
                        if any(isinstance(value, bytes) and _has(value, forms) for value in row):
                            return True
    return False


def _placed(
    snapshot: Snapshot, head: Head, bodies: Mapping[tuple[str, int], bytes]
) -> tuple[dict[tuple[str, int], bytes], Head]:
    """Return the frames of a session that change, and its head.

    What a record says of its place goes with its body.
    """
    events, headers, ids = list[NewEvent](), list[bytes](), list[str]()
    for frame in snapshot.frames(head.name):
        event = decode(frame, head.name)
        body = bodies.get((head.name, event.seq))
        ids.append(event.id)
        after = event if body is None else msgspec.structs.replace(event, body=body, kind=_kind(event, body))
        events.append(placed_event(after, lambda seq: decode(snapshot.frame(head.name, seq), head.name).id))
        headers.append(header_only(frame))
    frames, placer = place_all(events, lambda seq: written_in(headers[seq - 1]))
    changed = dict[tuple[str, int], bytes]()
    for seq, header in enumerate(headers, 1):
        body = bodies.get((head.name, seq))
        if body is not None:
            changed[head.name, seq] = frames[seq] + body
        elif frames[seq] != header:
            event = decode(snapshot.frame(head.name, seq), head.name)
            changed[head.name, seq] = frames[seq] + event.body
    anew = Head(name=head.name, number=head.number, source=head.source)
    return changed, head_of(frames, placer, anew, "")


def _kind(event: Event, body: bytes) -> str:
    """Return an event's kind with a tombstone: a harness's record without fields has no meaning."""
    return "custom" if event.is_entry and not event.is_own and shown_of(body) == b"{}" else event.kind


class _Cut:
    """Texts that go, and the ways in which they may be written in records."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self.forms = tuple(sorted({form for text in texts for form in _forms(text)}, key=len, reverse=True))

    def stands_in(self, body: bytes) -> bool:
        """Return True if a record holds one of the texts, however it is escaped."""
        if any(form in body for form in self.forms):
            return True
        # A writer may escape any character; almost none escapes more than it must.
        return bool(self.forms) and (b"\\u" in body or b"\\/" in body) and self._is_in(_decoded(body))

    def _is_in(self, record: Any, depth: int = 0) -> bool:
        for value in _all_in(record):
            for text in value if isinstance(value, dict) else [value] if isinstance(value, str) else ():
                if any(each in text for each in self._texts):
                    return True
                inner = _decoded(text.encode("utf-8", "replace")) if depth < _DEPTH and "\\" in text else None
                if isinstance(inner, dict | list) and self._is_in(inner, depth + 1):
                    return True
        return False

    def without(self, event: Event, body: bytes) -> bytes:
        """Return a record's tombstone, which shows the record with marks where the texts were.

        It shows nothing of a record from which they cannot be cut. Raises BadInputError if that is a compaction or
        refold's own.
        """
        core = _core(event, body)
        for form in self.forms:
            core = core.replace(form, MARK.encode())
        if core[:1] == b"{" and isinstance(_decoded(core), dict) and not self.stands_in(core):
            return _with_core(event, body, core)
        if event.kind != "observed_rewrite" and (event.is_own or event.kind == "compaction"):
            raise BadInputError(
                f"session {event.session!r}, event #{event.seq}",
                f"the text cannot be cut out of this {event.kind.replace('_', ' ')} without breaking its JSON",
                "name more or less of it",
            )
        return _with_core(event, body, b"{}")

    def check_names(self, event: Event) -> None:
        """Raise BadInputError if a text stands in a name, which is no part of a record."""
        names = event.session, event.id, event.written_parent or "", event.cause, event.kind
        for name in names:
            if any(text in name for text in self._texts):
                raise BadInputError(
                    f"session {event.session!r}, event #{event.seq}",
                    "the text stands in its name or in that of its session, which cannot be purged",
                    "name a longer part of the secret, or leave this session out of a new store",
                )


def _forms(text: str) -> Iterator[bytes]:
    """Yield the ways in which a text may be written: as it is, or in JSON in texts of JSON."""
    forms = {text, text.encode().decode("latin-1")}
    for _ in range(_DEPTH):
        yield from (form.encode("utf-8", "surrogatepass") for form in forms)
        forms = {json.dumps(form, ensure_ascii=only)[1:-1] for form in forms for only in (True, False)}


def _decoded(data: bytes) -> Any:
    """Return JSON decoded, None for anything else, and for what is deeper than a record may be."""
    try:
        return None if is_deeper(data, DEEPEST_RECORD) else json.loads(data)
    except ValueError:
        return None


def _all_in(value: Any) -> Iterator[Any]:
    """Yield a value of JSON, and every one in it."""
    left = [value]
    while left:
        value = left.pop()
        yield value
        if isinstance(value, dict | list):
            left += value.values() if isinstance(value, dict) else value


class _Made:
    """Cut everything that was made from events, or from lines, that go.

    Each line of `text`, which may have several, goes from all that was made. So do the lines of the named events
    `whole`, short ones in the sessions `near`, which have these events.
    """

    def __init__(self, text: str, whole: Collection[Event], near: Collection[str]) -> None:
        self._named = {(event.session, event.seq) for event in whole}
        self._digests = {body_digest(event.body) for event in whole}
        self._near = near
        self._said = {lines for event in whole for lines in _sets_of_lines(event)} - {frozenset()}
        self._longest = _Cut([max(each, key=len) for each in self._said])
        told = {line for event in whole for value in _texts(event) for line in _lines(value)}
        self._close = _Lines({*_lines(text), *told})
        self._far = _Lines({*_lines(text), *(each for each in told if len(each) >= _LONG)})
        self._whole, self._touched = set[tuple[str, str]](), set[tuple[str, str]]()

    @cached_property
    def forms(self) -> tuple[bytes, ...]:
        """The ways in which the longest lines may be written."""
        longest = sorted(self._close.all, key=len)[-_NAMED_BY:]
        return _Cut([each for each in longest if len(each) >= _LONG] or longest[-1:]).forms

    @cached_property
    def _bytes(self) -> Mapping[bool, _Cut]:
        return {True: _Cut([*self._close.all]), False: _Cut([*self._far.all])}

    def add(self, event: Event, why: Why) -> None:
        """Add an event that goes, or a part of it."""
        if why in {"named", "copy"}:
            self._whole.add((event.session, event.id))
        if not _is_made(event):
            self._touched.add((event.session, event.id))

    def payloads(self, snapshot: Snapshot, event: Event, cut: _Cut) -> dict[bytes, bytes]:
        """Return what replaces bytes between the records of an import, by digest."""
        try:
            record = record_of("import", event.body)
        except CorruptionError:
            return {}
        assert isinstance(record, Import)  # noqa: S101  the kind says so
        digests = segment_digests(record.head, record.lines, record.tail)
        held = {each: data for each in digests if len(data := snapshot.blob(each)) >= SHORTEST}
        lines = self._bytes[event.session in self._near] if held else cut
        return {
            each: PURGED_PAYLOAD
            for each, data in held.items()
            if cut.stands_in(data) or lines.stands_in(data)
        }

    def without(self, event: Event) -> tuple[bytes, Why | None]:
        """Return what stands in the place of an event's body, and why; None if it stays."""
        if (event.session, event.seq) in self._named:
            return _nothing(event), "named"
        if not _is_made(event):
            is_copy = body_digest(event.body) in self._digests or self._is_said(event)
            return (_nothing(event), "copy") if is_copy else (event.body, None)
        left = self._left_of(event, _decoded(_core(event, event.body)))
        if left is None:
            return event.body, None
        try:
            core = json.dumps(left, allow_nan=False).encode()
        except ValueError:
            core = b"{}"
        return _with_core(event, event.body, core), "quotes"

    def _is_said(self, event: Event) -> bool:
        """Return True for the same message, as another harness or file has written it."""
        return self._longest.stands_in(event.body) and any(
            lines in self._said and (event.session in self._near or sum(map(len, lines)) >= _LONG)
            for lines in _sets_of_lines(event)
            if lines
        )

    def _left_of(self, event: Event, record: Any) -> Any:
        """Return what is left of a record, None for all: no text or note about an event that goes."""
        has_any = False
        if event.is_own and isinstance(record, dict):
            if event.kind == "observed_rewrite" and (event.session, _target(event)) in self._whole:
                return {}
            if event.kind == "note" and self._is_quoted(event.session, record):
                record["data"], has_any = MARK, True
            for each in record.get("targets", []) if event.kind == "rewrite" else ():
                if (event.session, each.get("target")) in self._touched and each.get("shown") != MARK:
                    each["shown"], has_any = MARK, True
        lines = self._close if event.session in self._near else self._far
        return record if lines.cut_from(record) or has_any else None

    def _is_quoted(self, session: str, record: Any) -> bool:
        names = (each.get("event") for each in _all_in(record) if isinstance(each, dict))
        return any(isinstance(name, str) and (session, name) in self._touched for name in names)


class _Lines:
    """Lines that go from what was made: a long one also if only its beginning stands there."""

    def __init__(self, lines: Collection[str]) -> None:
        self.all = lines
        self._short = {each for each in lines if len(each) < _LONG}
        self._starts = {each[:SHORTEST] for each in self._short}
        self._long = sorted(each for each in lines if len(each) >= _LONG)
        self._beginnings = {each[:_LONG] for each in self._long}

    def cut_from(self, record: Any, depth: int = 0) -> bool:
        """Put marks where the lines were, also in texts of JSON. Return True if there were any."""
        has_any = False
        for value in _all_in(record) if self.all else ():
            named = value.items() if isinstance(value, dict) else ()
            for name, each in enumerate(value) if isinstance(value, list) else named:
                if isinstance(each, str) and not (isinstance(name, str) and _NAMES.fullmatch(name)):
                    value[name] = self._without(each, depth)
                    has_any = has_any or value[name] != each
        return has_any

    def _without(self, text: str, depth: int) -> str:
        if depth < _DEPTH and text[:1] in {"{", "["}:
            inner = _decoded(text.encode("utf-8", "replace"))
            if self.cut_from(inner, depth + 1):
                return json.dumps(inner, ensure_ascii=False)
        return self._cut(text)

    def _cut(self, text: str) -> str:
        parts, end = list[str](), 0
        for found in _STARTS.finditer(text):
            at = found.start()
            if at >= end and (size := self._size_at(text, at)):
                parts += text[end:at], MARK
                end = at + size
        return "".join((*parts, text[end:]))

    def _size_at(self, text: str, at: int) -> int:
        """Return the characters of a line that stand at a place, 0 for none."""
        if text[at : at + _LONG] in self._beginnings:
            size, common = _LONG, _LONG
            while common == size:
                # What is compared grows with what agrees, so that a long text costs no more than its length.
                size *= 4
                piece = text[at : at + size]
                place = bisect_left(self._long, piece)
                common = max(_common(piece, each) for each in self._long[max(place - 1, 0) : place + 1])
            return common
        if text[at : at + SHORTEST] in self._starts:
            for size in range(_LONG - 1, SHORTEST - 1, -1):
                if text[at : at + size] in self._short and not text[at + size : at + size + 1].isalnum():
                    return size
        return 0


def _common(one: str, other: str) -> int:
    """Return the number of characters with which both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (here, there) in pairs if here != there), min(len(one), len(other)))


def _is_made(event: Event) -> bool:
    return event.kind not in _OF_FILES if event.is_own else event.kind in _MADE


def _core(event: Event, body: bytes) -> bytes:
    """Return the fields of a record, or of the record in an observed rewrite."""
    if not event.is_own or event.kind != "observed_rewrite":
        return shown_of(body)
    return shown_of(embedded(_observed(body).record))


def _with_core(event: Event, body: bytes, core: bytes) -> bytes:
    """Return a body's tombstone that shows other fields."""
    if not event.is_own or event.kind != "observed_rewrite":
        return tombstone(body, core)
    # The harness's file still has this version: it must be known again, too.
    record = _observed(body).record
    changed = embed(tombstone(embedded(record), core))
    return tombstone(body, shown_of(body).replace(bytes(record), bytes(changed)))


def _observed(body: bytes) -> ObservedRewrite:
    record = record_of("observed_rewrite", shown_of(body))
    assert isinstance(record, ObservedRewrite)  # noqa: S101  the kind says so
    return record


def _target(event: Event) -> str:
    return _observed(event.body).target_id


def _lines(text: str) -> Iterator[str]:
    """Yield a text's lines that go by themselves, also with single spaces, and all as one."""
    for each in (*text.splitlines(), text):
        yield from (
            line
            for line in {each.strip(), " ".join(each.split())}
            if len(line) >= SHORTEST and "\n" not in line
        )


def _sets_of_lines(event: Event) -> Iterator[frozenset[str]]:
    """Yield the lines of a message, then the long ones.

    Its other fields are also in records that quote nothing of it.
    """
    lines = frozenset(line for value in _texts(event) for line in map(str.strip, value.splitlines()))
    for least in (SHORTEST, _LONG):
        yield frozenset(line for line in lines if len(line) >= least)


def _texts(event: Event) -> Iterator[str]:
    """Yield the texts in an event's messages and calls."""
    for value in _values(event):
        yield from (each for each in _all_in(value) if isinstance(each, str))


def _values(event: Event) -> Iterator[Any]:
    """Yield the texts of an event's messages and calls; nothing of an unreadable one."""
    try:
        messages = node_of(event).messages
    except (CorruptionError, TooDeepError):
        return
    for message in messages:
        for block in message.blocks:
            if isinstance(block, Text | Thinking):
                yield block.text
            elif isinstance(block, ToolCall):
                yield block.decoded
        if message.shell is not None:
            yield from (message.shell.command, message.shell.output)
        if message.extension is not None:
            yield message.extension.data


def _nothing(event: Event) -> bytes:
    """Return the tombstone of a whole record; of a message of refold's own, its role stays."""
    if not event.is_own:
        return tombstone(event.body, b"{}")
    role = event.role if event.role == "user" else "custom"
    message = {
        "role": role,
        "content": MARK,
        "customType": "purged",
        "display": True,
        "timestamp": event.time or 0,
    }
    return tombstone(event.body, msgspec.json.encode({"type": "message", "message": message}))


def _only_texts(event: Event) -> BadInputError:
    return BadInputError(
        f"session {event.session!r}, event #{event.seq}",
        f"is a {event.kind.replace('_', ' ')}, of which only texts can be purged",
        "name the text with --match",
    )
