"""Build refold's contexts of the requests that a run recorded, from the session files that it left."""

from __future__ import annotations

import json
import re
from contextlib import closing, suppress
from pathlib import Path
from sqlite3 import connect
from tempfile import TemporaryDirectory
from typing import Any, Final

from eventstore.errors import RefoldError
from eventstore.event import Event
from eventstore.files.importing import import_sessions
from eventstore.harnesses.opencode.session_records import record_of
from eventstore.log import Snapshot
from eventstore.memory import MemoryLog
from eventstore.paths import events
from eventstore.records import FORMAT
from projections.context.build import context_at
from projections.context.cursor import resolve_cursor
from tests.wire.blocks import Block, context_blocks

_ANSWER: Final = re.compile(rb'"((?:msg|resp|chatcmpl)[-_]w\d{4})"')
"""An id of an answer of the scripted model, as programs record it."""
_CALL: Final = re.compile(rb'"(?:toolu|call)_(w\d{4})\d\d"')
"""An id of a call of such an answer."""
_ITEM: Final = re.compile(rb'"id":"[a-z]+_(w\d{4})\d\d"')
"""An id of an item of such an answer: Codex records no other, except of a remote compaction."""

_DATABASE: Final = "opencode.jsonl"
"""The rows of opencode's database, as runs keep them."""
_TREE: Final = "storage.jsonl"
"""The files of opencode before 1.2."""


def contexts_in(folder: Path) -> dict[str, list[Block]]:
    """Return a context for the id of each answer in the session files below a folder.

    It is the one above the answer's first record, as of the moment before that record. Forks copy records, so the
    first file that has an answer counts.
    """
    with sessions_in(folder).snapshot() as snapshot:
        return {answer: _context(snapshot, entry) for answer, entry in answers_in(snapshot, folder).items()}


def answers_in(snapshot: Snapshot, folder: Path) -> dict[str, Event]:
    """Return the first record of each answer, by the answer's id."""
    if any(path.name in (_DATABASE, _TREE) for path in folder.rglob("*.jsonl")):
        return _of_database(snapshot, folder.parent / "requests.jsonl")
    found: dict[str, Event] = {}
    for head in snapshot.heads():
        for entry in events(snapshot, head.name):
            for answer in _answers(entry):
                found.setdefault(answer, entry)
    return found


def sessions_in(folder: Path) -> MemoryLog:
    """Return a log with the sessions of the files below a folder."""
    log = MemoryLog()
    for path in sorted(folder.rglob("*.jsonl")):
        with TemporaryDirectory() as temporary:
            for each in _restored(path, Path(temporary)):
                with suppress(RefoldError):  # a file beside the sessions
                    import_sessions(log, each)
    return log


def _restored(path: Path, folder: Path) -> list[Path]:
    """Return the session files of a recorded one; those of opencode are written to a folder."""
    if path.name == _DATABASE:
        return [database_of(path, folder)]
    if path.name != _TREE:
        return [path]
    for each in map(json.loads, path.read_text("utf-8").splitlines()):
        file = folder / path.stem / each["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(each["data"], ensure_ascii=False, indent=2), "utf-8")
    return sorted(folder.glob(f"{path.stem}/session/*/*.json"))


def _answers(entry: Event) -> list[str]:
    """Return the ids of answers that a record belongs to."""
    if entry.role not in ("assistant", "compactionSummary"):
        return []
    body = entry.body
    of_items = (b"resp_" + number for number in _ITEM.findall(body)) if entry.role == "assistant" else ()
    return [*map(bytes.decode, (*_ANSWER.findall(body), *of_items))]


def _of_database(snapshot: Snapshot, requests: Path) -> dict[str, Event]:
    """Return the answers in opencode's sessions, which have no ids of theirs: they are in order.

    A fork's copies are whole from the beginning, and no answers. Without events, every message is; those that were
    taken back are gone, so that an answer with calls is known by these, and the next ones follow it.
    """
    found, newest = dict[str, Event](), dict[str, dict[str, Any]]()
    for head in snapshot.heads():
        for entry in events(snapshot, head.name):
            record = json.loads(entry.body) if entry.format != FORMAT else {}
            is_row = "type" not in record
            info = (record if is_row else record.get("data", {})).get("info") or {}
            if record.get("type", "message.updated.1") != "message.updated.1" or record_of(entry.body).copied:
                continue
            if info.get("role") != "assistant":
                continue
            if info["id"] not in found and (is_row or not info.get("finish")):
                found[info["id"]] = entry.decode()
            newest[info["id"]] = info
    answers = [
        name
        for name in sorted(found)
        if newest[name].get("finish") and newest[name].get("summary") is not True
    ]
    answered = [
        each["answer"]
        for each in map(json.loads, requests.read_text("utf-8").splitlines())
        if each["answer"] and each["rule"] not in ("title", "compaction")
    ]
    if len(answered) == len(answers):
        return {answer: found[name] for answer, name in zip(answered, answers, strict=True)}
    known, at = dict[str, Event](), 0
    for name in answers:
        call = _CALL.search(found[name].body)
        at = next(
            (place for place, each in enumerate(answered) if call and each.endswith(call[1].decode())), at
        )
        known[answered[at]] = found[name]
        at += 1
    return known


def database_of(rows: Path, folder: Path) -> Path:
    """Write a database with recorded rows."""
    path = folder / "opencode.db"
    with closing(connect(path)) as database, database:
        for row in map(json.loads, rows.read_text("utf-8").splitlines()):
            table = row.pop("table")
            names = ", ".join(row)
            database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({names})")
            marks = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*row.values()])  # noqa: S608
    return path


def _context(snapshot: Snapshot, answer: Event) -> list[Block]:
    cursor = resolve_cursor(snapshot, answer.session, as_of=answer.seq - 1).at_leaf(answer.parent_seq)
    return context_blocks(context_at(snapshot, cursor), answer.time or 0)
