"""A database that grew gives the log that one reading of it gives, and only what is new is read."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eventstore.event import Event
from eventstore.files.importing import import_sessions
from eventstore.harnesses.opencode.event_rows import EventRows, Row
from eventstore.harnesses.opencode.event_table import EventReader
from eventstore.harnesses.opencode.session_records import fields_of
from eventstore.memory import MemoryLog
from projections.context.build import build_context, harness_json
from tests.support.events import events
from tests.support.opencode import SESSION, Database
from tests.wire.contexts import database_of
from tests.wire.recording import fixture, unpacked

Stored = tuple[Any, ...]
_EVENTS = "SELECT id, aggregate_id, seq, type, data FROM event ORDER BY aggregate_id, seq"


class Talk:
    """A session in which anything may follow anything."""

    def __init__(self, dice: random.Random, folder: Path) -> None:
        self.dice, self.database = dice, Database(folder)
        self.messages, self.calls = list[str](), list[tuple[str, str]]()
        self.database.begin()
        for number in range(14):
            step = dice.choice([self.ask, self.answer, self.compact, self.take_back, self.tell, self.change])
            step(f"msg_{number:03}")
        self.database.ask("msg_end", "end")

    def ask(self, name: str) -> None:
        self.database.ask(name, f"ask {name}")
        self.messages.append(name)

    def answer(self, name: str) -> None:
        self.database.message(name, "assistant")
        self.database.part(name, f"prt_{name}s", type="step-start")
        if self.dice.random() < 0.5:
            for status in ("pending", "running", "completed"):
                self.database.call(name, f"prt_{name}", status)
            self.calls.append((name, f"prt_{name}"))
        self.database.answer(name, "said")
        self.messages.append(name)

    def compact(self, name: str) -> None:
        tail = self.dice.choice(["", *self.messages, "msg_none"])
        self.database.compact(name, f"{name}s", "so far", tail)
        self.messages += [name, f"{name}s"]

    def take_back(self, name: str) -> None:  # noqa: ARG002  as the others
        count = self.dice.randint(0, 3)
        for gone in self.messages[len(self.messages) - count :]:
            self.database.event("message.removed.1", {"messageID": gone})
        del self.messages[len(self.messages) - count :]

    def tell(self, name: str) -> None:
        self.database.event("session.updated.1", {"info": {"id": SESSION, "title": name[:-1]}})
        if self.dice.random() < 0.3:
            self.database.event("message.updated.1", "{torn")  # type: ignore[arg-type]  damage

    def change(self, name: str) -> None:
        for message, part in self.calls[-1:]:
            if self.dice.random() < 0.6:
                self.database.call(message, part, time={"compacted": 1})
            else:
                self.database.event("message.part.removed.1", {"messageID": message, "partID": part})
        for message in self.messages[-2:-1]:
            self.database.part(message, f"prt_{name}l", type="text", text="late")


def rows_of(path: Path) -> list[Stored]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(_EVENTS).fetchall()


def put(path: Path, rows: list[Stored]) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM event")
        database.executemany(
            "INSERT INTO event (id, aggregate_id, seq, type, data) VALUES (?, ?, ?, ?, ?)", rows
        )


def is_apart(rows: list[Stored], cut: int) -> bool:
    """Return True if what is before the cut can tell what it means without what comes behind it.

    The part that says what a compaction keeps follows its summary at once; messages are taken back together.
    """
    told = [(kind, fields_of(data.encode())) for *_, kind, data in rows]
    before = [each for each in told[:cut] if not each[0].startswith("session.")]
    behind = [each for each in told[cut:] if not each[0].startswith("session.")]
    if not before or not behind:
        return True
    if before[-1][0] == behind[0][0] == "message.removed.1":
        return False
    is_summary = before[-1][1].get("info", {}).get("summary") is True
    next_part = next((data["part"] for kind, data in behind if kind == "message.part.updated.1"), {})
    return not (is_summary and "tail_start_id" in next_part)


def records(log: MemoryLog, session: str) -> list[Stored]:
    return [
        (
            each.id,
            each.kind,
            each.parent_seq and each.parent,
            each.written_parent,
            each.time,
            each.flags,
            each.body,
        )
        for each in events(log, session)
        if not each.is_own
    ]


def check_cuts(path: Path, session: str, cuts: list[int]) -> None:
    rows = rows_of(path)
    once = MemoryLog(clock=lambda: 0)
    import_sessions(once, path)
    for cut in cuts:
        grown = MemoryLog(clock=lambda: 0)
        for some in (rows[:cut], rows):
            put(path, some)
            found = {each.id: each for each in import_sessions(grown, path)}
        if is_apart(rows, cut):
            assert records(grown, session) == records(once, session), cut
        assert harness_json(build_context(grown, session)) == harness_json(build_context(once, session)), cut
        torn = [at for at, row in enumerate(rows, 2) if not fields_of(row[4].encode())]
        assert [remark.line for remark in found[session].differs_from_harness] == torn


@pytest.mark.parametrize("seed", range(6))
def test_any_cut_gives_the_same_log(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    path = Talk(dice, tmp_path).database.path
    check_cuts(path, SESSION, dice.sample(range(1, len(rows_of(path))), 20))


@pytest.mark.slow
def test_real_databases_grow_to_the_same_log(tmp_path: Path) -> None:
    with unpacked(fixture("opencode", "1.18.33")) as run:
        for scenario in ("automatic-compaction", "errors", "manual-compaction", "revert"):
            (file,) = run.glob(f"{scenario}/sessions/**/opencode.jsonl")
            (folder := tmp_path / scenario).mkdir()
            path = database_of(file, folder)
            rows = rows_of(path)
            check_cuts(path, rows[0][1], list(range(2, len(rows), 7)))


def test_only_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.begin()
    for number in range(40):
        database.ask(f"msg_{number:02}", "ask")
        database.answer(f"msg_{number:02}a", "said")
    import_sessions(log, database.path)
    database.compact("msg_50", "msg_51", "so far", tail="msg_20")
    read, past = list[int](), list[str]()
    events, go_past = EventReader.events, EventReader.go_past
    before, searches = EventRows.before, list[int]()

    def counted(reader: EventReader, rows: Sequence[Row]) -> Any:
        read.append(len(rows))
        return events(reader, rows)

    def passed(reader: EventReader, row: Row, event: Event) -> None:
        past.append(row.id)
        go_past(reader, row, event)

    def searched(rows: EventRows, since: int, new: Sequence[Row]) -> Any:
        searches.append(since)
        return before(rows, since, new)

    monkeypatch.setattr(EventRows, "before", searched)
    monkeypatch.setattr(EventReader, "events", counted)
    monkeypatch.setattr(EventReader, "go_past", passed)
    (found,) = import_sessions(log, database.path)
    assert (found.added, read) == (6, [6, 6])
    assert len(set(past)) == 2
    assert len(searches) == 1
