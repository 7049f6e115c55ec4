"""Take a leaked secret out of a store: put tombstones in the place of bodies that hold it.

A tombstone has the body's digest, so that the chain stays whole and another copy of the record is recognized
(`eventstore.chain`). It is the one way in which a store loses something.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
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
from eventstore.javascript import TooDeepError
from eventstore.lmdb.data_files import DATA_FILE
from eventstore.log import Head, Snapshot, StoredLog
from eventstore.records import Import, ObservedRewrite, embed, embedded, record_of
from eventstore.views import Text, Thinking, ToolCall

MARK: Final = "[purged]"
"""Stands where the text was."""
SHORTEST: Final = 6
"""Characters of the shortest text that can be purged: a shorter one stands in too much."""
_SHORTEST_LINE: Final = 24
"""Characters of a line by which a summary is known to quote a message."""
_CUT: Final = " […]"
"""Ends a quotation of a message's beginning in a note."""
_DEPTH: Final = 4
"""The number of texts of JSON that may lie in each other."""
_MADE: Final = frozenset(
    {"compaction", "branch_summary", "rewrite", "observed_rewrite", "note", "session_info"}
)
"""Kinds of events that are made from others."""

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
    the texts that go may be written in the store, longest first.
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
    copies = {body_digest(event.body) for event in whole.values()}
    cut = _Cut([text] if text else [])
    said = {frozenset(_lines(event)) for event in whole.values()} - {frozenset()}
    lines = _Cut([*frozenset[str]().union(*said)])
    found, bodies, payloads = list[PurgedEvent](), dict[tuple[str, int], bytes](), dict[bytes, bytes]()
    gone = {(event.session, event.id) for event in whole.values()}
    position = 0
    for item in snapshot.feed():
        event, position = decode(item.frame, item.session), item.position
        key = event.session, event.seq
        cut.check_names(event)
        if event.kind == "import" and text:
            payloads |= cut.payloads(snapshot, event.body)
        body, why = _purged(event, whole.keys(), copies, lines, cut)
        quoted = _Cut([*_cut_lines(event, gone)])
        if quoted.stands_in(body):
            body, why = quoted.without(event, body), why or "quotes"
        # The same message, as another harness or another version of the file has written it.
        if event.kind not in _MADE and lines.stands_in(event.body) and frozenset(_lines(event)) in said:
            body, why = _nothing(event), why if why == "named" else "copy"
        if why is None:
            continue
        if why in {"named", "copy"}:
            gone.add((event.session, event.id))
        bodies[key] = body
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
        forms=cut.forms or lines.forms,
        position=position,
    )


def _purged(
    event: Event, named: Collection[tuple[str, int]], copies: Collection[bytes], lines: _Cut, cut: _Cut
) -> tuple[bytes, Why | None]:
    """Return what stands in the place of an event's body, and why; None if it stays."""
    body: bytes = event.body
    if (event.session, event.seq) in named:
        return _nothing(event), "named"
    if event.kind not in _MADE and copies and body_digest(body) in copies:
        return _nothing(event), "copy"
    why: Why | None = None
    if event.kind in _MADE and lines.stands_in(body):
        body, why = lines.without(event, body), "quotes"
    if cut.stands_in(body):
        body, why = cut.without(event, body), "holds"
    return body, why


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

    def _is_in(self, value: Any, depth: int = 0) -> bool:
        if isinstance(value, str):
            if any(text in value for text in self._texts):
                return True
            inner = _decoded(value.encode("utf-8", "replace")) if depth < _DEPTH and "\\" in value else None
            return isinstance(inner, dict | list) and self._is_in(inner, depth + 1)
        if isinstance(value, dict):
            return any(self._is_in(key, depth) or self._is_in(each, depth) for key, each in value.items())
        return isinstance(value, list) and any(self._is_in(each, depth) for each in value)

    def without(self, event: Event, body: bytes) -> bytes:
        """Return a record's tombstone, which shows the record with marks where the texts were.

        It shows nothing of a record from which they cannot be cut. Raises BadInputError if that is a compaction or
        refold's own.
        """
        shown = shown_of(body)
        if event.is_own and event.kind == "observed_rewrite":
            record = record_of(event.kind, shown)
            assert isinstance(record, ObservedRewrite)  # noqa: S101  the kind says so
            changed = embedded(record.record)
            # The harness's file still has this version: it must be known again, too.
            shown = shown.replace(bytes(record.record), bytes(embed(self._tombstone(changed))))
        if (cut := self._marked(shown)) is None:
            if event.is_own or event.kind == "compaction":
                raise BadInputError(
                    f"session {event.session!r}, event #{event.seq}",
                    f"the text cannot be cut out of this {event.kind.replace('_', ' ')} without breaking its JSON",
                    "name more or less of it",
                )
            cut = b"{}"
        return tombstone(body, cut)

    def _tombstone(self, body: bytes) -> bytes:
        return tombstone(body, self._marked(shown_of(body)) or b"{}")

    def _marked(self, shown: bytes) -> bytes | None:
        """Return a JSON object with marks where the texts were, None if they cannot be cut out."""
        for form in self.forms:
            shown = shown.replace(form, MARK.encode())
        is_cut = shown[:1] == b"{" and isinstance(_decoded(shown), dict) and not self.stands_in(shown)
        return shown if is_cut else None

    def payloads(self, snapshot: Snapshot, body: bytes) -> dict[bytes, bytes]:
        """Return what replaces bytes between the records of an import, by digest."""
        try:
            record = record_of("import", body)
        except CorruptionError:
            return {}
        assert isinstance(record, Import)  # noqa: S101  the kind says so
        digests = segment_digests(record.head, record.lines, record.tail)
        return {each: PURGED_PAYLOAD for each in digests if self.stands_in(snapshot.blob(each))}

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
    """Return JSON decoded, None for anything else."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _lines(event: Event) -> Iterator[str]:
    """Yield the lines of an event's messages that are long enough to tell where they come from.

    Its other fields, such as a folder or a session's name, are also those of records that quote nothing of it.
    """
    left = [*_values(event)]
    while left:
        value = left.pop()
        if isinstance(value, dict | list):
            left += value.values() if isinstance(value, dict) else value
        elif isinstance(value, str):
            yield from (line for line in map(str.strip, value.splitlines()) if len(line) >= _SHORTEST_LINE)


def _cut_lines(event: Event, gone: Collection[tuple[str, str]]) -> Iterator[str]:
    """Yield the line at which a note cuts each quotation of an event that goes."""
    left = [_decoded(event.body)] if event.kind == "note" else []
    while left:
        value = left.pop()
        if isinstance(value, dict):
            quote, source = value.get("quote"), value.get("event")
            if isinstance(quote, str) and quote.endswith(_CUT) and (event.session, source) in gone:
                yield from (
                    line for line in quote.removesuffix(_CUT).splitlines()[-1:] if len(line) >= _SHORTEST_LINE
                )
        if isinstance(value, dict | list):
            left += value.values() if isinstance(value, dict) else value


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
