"""Read and write the session files of the made-up harness."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from eventstore import append, frame, harnesses
from eventstore.errors import BadInputError
from eventstore.event import Absent, Event, KeptMessages, NewEvent, Place
from eventstore.facts import facts_of_node
from eventstore.harnesses.base import Certainty, Export, Format, SessionLocation, Tools
from eventstore.harnesses.refold.events import compose
from eventstore.harnesses.source import (
    DerivedEvent,
    Glue,
    KnownEvents,
    Piece,
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    SourceRecord,
    SourceRemark,
    SourceSession,
    Tail,
    without_parent,
)
from eventstore.imports import origin_link, started_link
from eventstore.log import Snapshot
from eventstore.node import CompactionView, Node, TitleRank, TitleView
from eventstore.records import Link, Remark, Resume, TextReplacement
from eventstore.views import Message, Payload, Text, ToolCall, Usage

VERSION: Final = "madeup/1"
HEADER: Final = b'{"madeup":1}\n'
_DATABASE: Final = b"SQLite format 3\0"
_KINDS: Final = {
    "say": "message",
    "exchange": "message",
    "summary": "compaction",
    "swap": "rewrite",
    "mark": "custom",
}
"""Event kinds by record kind; any other record is a note, which has no place in the tree."""
_PLACE: Final = Place(absent=Absent.ROOT)
_ROLES: Final = {"person": "user", "model": "assistant", "tool": "toolResult"}


class MadeUp(Format):
    name = "madeup"
    versions = (VERSION,)
    tools = Tools(
        reads={"look": ("at",)},
        modifies={"put": ("into",)},
        shells={"do": ("line",)},
        plans=frozenset({"steps"}),
        paths=("at", "into"),
        scripts=("line",),
    )
    places = (SessionLocation(environment={"MADEUP_HOME": "kept"}, default="~/.madeup", pattern="*"),)
    exports: Mapping[str, Export] = {}

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:  # noqa: ARG002
        fields = json.loads(record)
        if kind == "compaction":
            fields = _with_mark(fields, parent)
            text = fields["text"]
            return Node(
                messages=(Message(role="compactionSummary", blocks=(Text(text),)),),
                compaction=CompactionView(
                    summary=text,
                    kept=tuple(fields["kept"]) if "kept" in fields else None,
                    keeps_before=fields.get("before", False),
                    tokens_before=fields.get("size"),
                    reason=fields.get("why", ""),
                ),
                target=next(iter(fields.get("kept", ())), None),
            )
        if kind == "rewrite":
            return Node(rewrites=tuple(_replacements(fields)))
        if "about" in fields:
            return Node(usage=_usage(fields["tokens"]), target=fields["about"])
        if "title" in fields:
            return Node(title=TitleView(text=fields["title"], rank=TitleRank[fields["by"]]))
        messages = tuple(_message(each) for each in _messages(fields))
        return Node(
            messages=messages,
            raw=json.dumps(fields["message"]).encode() if "message" in fields else b"",
            group=fields.get("group", ""),
            folder=fields.get("folder", ""),
            by_person="told_by" not in fields and any(message.role == "user" for message in messages),
        )

    def message(self, raw: bytes) -> Message:
        return _message(json.loads(raw))

    def payloads(self, raw: bytes) -> list[Payload]:
        return [Payload(raw=raw)]

    def place(self, version: str, event_id: str, record: bytes) -> Place:  # noqa: ARG002
        fields = json.loads(record)
        if fields["kind"] != "mark":
            return _PLACE
        names = tuple(fields["compacts"].get("kept", ()))
        kept = KeptMessages(names, names[0], names[-1], before=True) if names else None
        return Place(absent=Absent.ROOT, is_boundary=True, kept=kept)

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        is_ours = beginning.startswith(_DATABASE) or b'{"madeup"' in b"".join(beginning[:20].split())
        return Certainty.SURE if is_ours else Certainty.NONE

    def open(self, source: Source) -> SourceContents:
        beginning = source.beginning()
        if beginning.startswith(_DATABASE):
            return _Rows(source)
        return _Lines(source) if beginning.startswith(HEADER) else _Document(source)

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:  # noqa: ARG002
        return False


FORMAT: Final = MadeUp()


def register(patch: pytest.MonkeyPatch) -> None:
    """Add the line of the harness's records, and put its format where it is looked for."""
    names = (*frame.FORMATS, VERSION)
    for module in (frame, append, harnesses):
        patch.setattr(module, "FORMATS", names)
    patch.setitem(frame._FORMAT_CODE, VERSION, len(names) - 1)
    patch.setitem(sys.modules, "eventstore.harnesses.madeup", sys.modules[__name__])
    harnesses.harness.cache_clear()


def _replacements(fields: dict[str, Any]) -> Iterator[TextReplacement]:
    for name, text in fields.get("texts", {}).items():
        yield TextReplacement(target=name, text=text)
    for call, text in fields.get("results", {}).items():
        yield TextReplacement(target="", call=call, text=text)


def _messages(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return fields.get("messages") or ([fields["message"]] if "message" in fields else [])


def _with_mark(fields: dict[str, Any], parent: bytes | None) -> dict[str, Any]:
    """A summary with what the mark above it says of the compaction."""
    above = json.loads(parent) if parent else {}
    return {**above["compacts"], **fields} if above.get("kind") == "mark" else fields


def _message(fields: dict[str, Any]) -> Message:
    tokens = fields.get("tokens")
    usage = None if tokens is None else _usage(tokens)
    calls = (
        ToolCall(each["id"], each["tool"], json.dumps(each["with"]).encode())
        for each in fields.get("calls", ())
    )
    return Message(
        role=_ROLES[fields["who"]],
        blocks=(Text(fields["text"]), *calls),
        tool_call_id=fields.get("answers", ""),
        usage=usage,
    )


def _usage(tokens: int) -> Usage:
    return Usage(input=tokens, total=tokens)


def _event(raw: bytes, parent: str | None) -> NewEvent:
    fields = json.loads(raw)
    kind = _KINDS.get(fields["kind"], "note")
    return NewEvent(
        id=fields["id"],
        kind=kind,
        body=raw,
        format=VERSION,
        parent=parent,
        time=fields.get("time"),
        facts=facts_of_node(FORMAT.node(VERSION, kind, raw), kind, raw),
        place=FORMAT.place(VERSION, fields["id"], raw),
    )


def _link(relation: Any, session: str, event: str, name: str) -> NewEvent:
    return compose(Link(relation=relation, session=session, event=event), id=name, time=None)


def _subagent(session: str, event: str = "") -> NewEvent:
    return _link("subagent", session, event, origin_link("subagent", event))


class _Read(SessionReader):
    """Share the state of the readers: records read and records to come, to find parents."""

    def __init__(self, sessions: Sequence[SourceSession], resume: Resume, known: KnownEvents) -> None:
        self._places = {each.name: place for place, each in enumerate(sessions)}
        self._known = known
        self._seen: set[tuple[int, str]] = set()
        self._orphans: list[tuple[int, int, str]] = [tuple(each) for each in resume.state.get("orphans", [])]
        self._counts = Counter({int(k): v for k, v in resume.state.get("counts", {}).items()})
        self._line = resume.line
        self._shared: dict[int, tuple[Sequence[str], str]] = {}

    @property
    def line(self) -> int:
        return self._line

    @property
    def state(self) -> dict[str, Any]:
        counts = {str(place): count for place, count in self._counts.items()}
        return {"counts": counts, "orphans": [list(each) for each in self._orphans]}

    def records(self, session: int) -> int:
        return self._counts[session]

    def orphans(self, session: int) -> Sequence[Remark]:
        found = ((line, parent) for place, line, parent in self._orphans if place == session)
        return [without_parent(*each, "contexts start here") for each in found]

    def _record(self, raw: bytes) -> Iterator[Piece]:
        fields = json.loads(raw)
        place, parent = self._places[fields["in"]], fields.get("after")
        self._counts[place] += 1
        self._seen.add((place, fields["id"]))
        self._orphans = [each for each in self._orphans if (each[0], each[2]) != (place, fields["id"])]
        if parent is not None and (place, parent) not in self._seen and not self._known.has(place, parent):
            self._orphans.append((place, self._line, parent))
        yield SourceRecord(_event(raw, parent), session=place, line=self._line)
        for derived in self._links(place, fields):
            yield msgspec.structs.replace(derived, session=place)

    def _links(self, place: int, fields: dict[str, Any]) -> Iterator[DerivedEvent]:
        """Yield the links that a record stands for, beside itself."""
        own, name = fields["in"], fields["id"]
        if fields["kind"] == "born":
            yield DerivedEvent(_link("fork", fields["of"], fields["at"], f"link-{name}"))
        if "starts" in fields:
            child = fields["starts"]
            yield DerivedEvent(_link("child", child, name, started_link(child)))
            yield DerivedEvent(_subagent(own, name), into=child)
        if "under" in fields:
            started = self._known.event(fields["under"], started_link(own))
            call = json.loads(started.body)["event"] if started else ""
            yield DerivedEvent(_subagent(fields["under"], call))
        yield from self._fork(place, own, name)

    def _fork(self, place: int, own: str, name: str) -> Iterator[DerivedEvent]:
        """Yield the link to the session that the beginning of this one was copied from, where the copy ends.

        Nothing tells the two apart: the one whose name comes first is the original.
        """
        first = self._counts[place] == 1
        others, last = self._shared.pop(place, ((), ""))
        among = self._known.sessions_with(name) if first else others
        sharing = [each for each in among if self._known.event(each, name)]
        if sharing:
            self._shared[place] = sharing, name
        for other in others if not sharing else ():
            original, copy = sorted((own, other))
            link = _link("fork", original, last, origin_link("fork", last))
            yield DerivedEvent(link, into="" if copy == own else copy)


class _Lines(SourceContents):
    """A file of lines that grows at its end, with any number of sessions."""

    growth = SourceGrowth.APPENDED
    passing: frozenset[str] = frozenset()

    def __init__(self, source: Source) -> None:
        self.source = source
        source.file.seek(len(HEADER))
        names = dict.fromkeys(fields["in"] for fields in map(_fields, source.file) if fields)
        self.sessions = [SourceSession(name=name, format=VERSION, header=HEADER.strip()) for name in names]

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        return _LinesRead(self, resume, known)


def _fields(raw: bytes) -> dict[str, Any] | None:
    try:
        fields = json.loads(raw)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) and "in" in fields else None


class _LinesRead(_Read):
    def __init__(self, contents: _Lines, resume: Resume, known: KnownEvents) -> None:
        super().__init__(contents.sessions, resume, known)
        self._source, self._offset = contents.source, resume.offset

    def pieces(self) -> Iterator[Piece]:
        file = self._source.file
        file.seek(self._offset)
        for raw in file:
            is_whole = raw.endswith(b"\n")
            if not is_whole:
                yield Tail()
            if _fields(raw):
                body = raw.rstrip(b"\n")
                yield from self._record(body)
                yield Glue(raw[len(body) :])
            else:
                yield Glue(raw)
                if raw != HEADER:
                    yield SourceRemark("skipped", self._line, "no record")
            self._line += is_whole


class _Document(SourceContents):
    """One JSON document that is written anew with each change: `{"madeup":1,"records":[…]}`."""

    growth = SourceGrowth.REWRITTEN
    passing: frozenset[str] = frozenset()

    def __init__(self, source: Source) -> None:
        source.file.seek(0)
        self.text = source.file.read()
        try:
            records = json.loads(self.text)["records"]
        except ValueError:
            raise BadInputError(source.name, "is torn", "write it again") from None
        names = dict.fromkeys(each["in"] for each in records)
        self.sessions = [SourceSession(name=name, format=VERSION) for name in names]

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        return _DocumentRead(self, resume, known)


class _DocumentRead(_Read):
    def __init__(self, contents: _Document, resume: Resume, known: KnownEvents) -> None:
        super().__init__(contents.sessions, resume, known)
        self._text = contents.text

    def pieces(self) -> Iterator[Piece]:
        text = self._text.decode()
        at, decoder, records = 0, json.JSONDecoder(), []
        start = text.index('"records"')
        while (start := text.find("{", start)) >= 0:
            _, stop = decoder.raw_decode(text, start)
            records.append((len(text[:start].encode()), len(text[:stop].encode())))
            start = stop
        for first, last in records:
            yield Glue(self._text[at:first])
            yield from self._record(self._text[first:last])
            at = last
            self._line += 1
        yield Glue(self._text[at:])


class _Rows(SourceContents):
    """A database whose rows change in place: `record(id, session, stamp, body)`, `stamp` growing with each change."""

    growth = SourceGrowth.ROWS
    passing: frozenset[str] = frozenset()

    def __init__(self, source: Source) -> None:
        self.path = Path(os.fsdecode(source.path))
        names = [
            name for (name,) in self.rows("SELECT session FROM record GROUP BY session ORDER BY min(rowid)")
        ]
        self.sessions = [SourceSession(name=name, format=VERSION) for name in names]

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        database = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        try:
            return database.execute(query, values).fetchall()
        finally:
            database.close()

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        return _RowsRead(self, resume, known)


class _RowsRead(_Read):
    def __init__(self, contents: _Rows, resume: Resume, known: KnownEvents) -> None:
        super().__init__(contents.sessions, resume, known)
        self._contents = contents
        self._stamp: int = resume.state.get("stamp", 0)
        self._changed: set[str] = set()

    @property
    def state(self) -> dict[str, Any]:
        return {**super().state, "stamp": self._stamp}

    def records(self, session: int) -> int:
        name = self._contents.sessions[session].name
        return int(self._contents.rows("SELECT count(*) FROM record WHERE session = ?", name)[0][0])

    def pieces(self) -> Iterator[Piece]:
        found = self._contents.rows(
            "SELECT stamp, body FROM record WHERE stamp > ? ORDER BY rowid", self._stamp
        )
        for stamp, body in found:
            yield from self._record(body.encode())
            self._stamp = max(self._stamp, stamp)
            self._line += 1
