"""opencode's files from before its database: one for a session, each message and each part."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eventstore.errors import BadInputError
from eventstore.files.exporting import export_original, export_session
from eventstore.files.importing import ImportResult, import_sessions
from eventstore.imports import origin_of
from eventstore.memory import MemoryLog
from projections.context.build import build_context, harness_json
from projections.context.cursor import resolve_cursor
from projections.descriptions import title
from projections.usage import answers
from tests.support.events import events
from tests.support.opencode import SESSION, START, Database, answered, exported, id_at, said, tree

Json = dict[str, Any]
FORK = "ses_ee02"


def made(number: int, session: str = SESSION, time: int = 0) -> Json:
    created = time or START + number * 1000
    return {"id": f"msg_{number}", "sessionID": session, "time": {"created": created}}


def asked(number: int, text: str = "hi", **more: Any) -> Json:
    message = said(made(number, **more), text, "one")
    return {**message, "parts": [{"id": f"prt_{number}", **part} for part in message["parts"]]}


def answer(number: int, text: str = "yes", **more: Any) -> Json:
    return answered(made(number, **more), [{"type": "text", "text": text}], "one", 5, 6)


def sync(log: MemoryLog, path: Path) -> ImportResult:
    (found,) = import_sessions(log, path)
    return found


def test_its_files_are_a_session(tmp_path: Path) -> None:
    log = MemoryLog()
    path = tree(tmp_path, [asked(1), answer(2)], title="A title")
    assert (sync(log, path).added, sync(log, path).added) == (3, 0)
    assert title(log, SESSION) == "A title"
    assert b'"yes"' in harness_json(build_context(log, SESSION))
    exported = json.loads(b"".join(export_session(log, SESSION, "opencode")))
    assert exported["messages"] == [asked(1), answer(2)]


def test_what_was_written_later_is_added(tmp_path: Path) -> None:
    log = MemoryLog()
    sync(log, tree(tmp_path, [asked(1)]))
    found = sync(log, tree(tmp_path, [asked(1, "other"), answer(2)], title="new"))
    assert (found.added, found.rewritten) == (1, 2)
    assert b'"other"' in harness_json(build_context(log, SESSION))


def test_what_a_database_took_over_stays(tmp_path: Path) -> None:
    log = MemoryLog()
    path = tree(tmp_path, [asked(1, "as it was"), answer(2)])
    database = Database(tmp_path, has_events=False)
    database.insert("session", id=SESSION, version="1.1.65", time_created=START)
    for message, text in ((asked(1), "as it is"), (answer(2), "yes"), (asked(3), "more")):
        info, name = message["info"], message["info"]["id"]
        row = {"session_id": SESSION, "time_created": info["time"]["created"]}
        database.insert("message", id=name, data=info, **row)
        part = {"type": "text", "text": text}
        database.insert("part", id=f"prt_{name}", message_id=name, data=part, **row)
    sync(log, database.path)
    for _ in range(2):
        found = sync(log, path)
        assert (found.added, found.rewritten) == (0, 0)
        assert sync(log, database.path).rewritten == 0
    assert b"as it is" in harness_json(build_context(log, SESSION))


def named(name_time: int, time: int, session: str = FORK) -> Json:
    """Return an answer whose id has one time, and that has another itself: a fork copies the second."""
    return {
        **answer(2, session=session, time=time),
        "info": {**answer(2, session=session, time=time)["info"], "id": id_at(name_time)},
    }


@pytest.mark.parametrize("source", ["files", "rows", "export"])
def test_copies_of_a_fork_count_once(tmp_path: Path, source: str) -> None:
    log, began = MemoryLog(), START + 9000
    messages = [named(began, START + 1000), named(began + 1000, began + 1001)]
    if source == "files":
        sync(log, tree(tmp_path, messages, id=FORK, time={"created": began}))
    elif source == "export":
        file = tmp_path / "export.json"
        file.write_bytes(exported(messages, "A title").replace(SESSION.encode(), FORK.encode()))
        sync(log, file)
        assert b"".join(export_original(log, FORK)) == file.read_bytes()
    else:
        database = Database(tmp_path, has_events=False)
        database.insert("session", id=FORK, version="1.15.5", time_created=began)
        for message in messages:
            name, time = message["info"]["id"], message["info"]["time"]["created"]
            database.insert("message", id=name, session_id=FORK, time_created=time, data=message["info"])
            for part in message["parts"]:
                row = {"id": f"{name}{part['id']}", "message_id": name, "session_id": FORK}
                database.insert("part", **row, data=part)
        sync(log, database.path)
    with log.snapshot() as snapshot:
        found = [each.message.usage for each in answers(snapshot, resolve_cursor(snapshot, FORK))]
    assert [usage and usage.cache_read for usage in found] == [None, 5]


def test_a_fork_is_linked_to_its_original(tmp_path: Path) -> None:
    log, began = MemoryLog(), START + 9000
    own = [named(START + 990 + 1000 * at, START + 1000 + 1000 * at, SESSION) for at in range(3)]
    tree(tmp_path, own)
    tree(tmp_path, [named(START + 4000, START + 4000, "ses_dd03")], id="ses_dd03")
    copies = [named(began + at, START + 1000 + 1000 * at) for at in range(2)]
    sync(log, tree(tmp_path, [*copies, named(began + 1000, began + 1001)], id=FORK, time={"created": began}))
    with log.snapshot() as snapshot:
        link = origin_of(snapshot, FORK, "fork")
    assert link is not None
    assert link.session == SESSION


@pytest.mark.parametrize("broken", ["message", "folder"])
def test_another_sessions_damage_ends_no_fork(tmp_path: Path, broken: str) -> None:
    log, began = MemoryLog(), START + 9000
    path = tree(tmp_path, [named(began, START + 1000)], id=FORK, time={"created": began})
    storage = path.parents[2] / "message"
    if broken == "message":
        (storage / "ses_zz" / f"{id_at(START + 1000)}.json").mkdir(parents=True)
    else:
        (storage / "ses_zz").write_text("no folder")
    assert sync(log, path).added == 2


def test_a_torn_file_is_told_and_others_read(tmp_path: Path) -> None:
    log = MemoryLog()
    path = tree(tmp_path, [asked(1), answer(2), asked(3)])
    (tmp_path / "storage/part/msg_1/prt_1.json").write_text('{"id": "prt')
    (tmp_path / f"storage/message/{SESSION}/msg_2.json").write_bytes(b"\xff")
    found = sync(log, path)
    told = [each.reason for each in found.skipped]
    assert told == [f"message/{SESSION}/msg_2.json is not JSON", "part/msg_1/prt_1.json is not JSON"]
    assert [each.id for each in events(log, SESSION) if each.kind == "message"] == ["msg_1", "msg_3"]


@pytest.mark.parametrize(("closed", "left"), [(f"message/{SESSION}", []), ("part/msg_1", ["msg_1", "msg_2"])])
def test_a_folder_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str, left: list[str]
) -> None:
    log, path = MemoryLog(), tree(tmp_path, [asked(1), answer(2)])
    listed = Path.iterdir

    def refused(folder: Path) -> Iterator[Path]:
        if folder == tmp_path / "storage" / closed:
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", refused)
    found = sync(log, path)
    assert [each.reason for each in found.skipped] == [f"{closed} cannot be read (Permission denied)"]
    assert [each.id for each in events(log, SESSION) if each.kind == "message"] == left


def test_a_file_outside_a_tree_is_refused(tmp_path: Path) -> None:
    path = tree(tmp_path, [asked(1)])
    moved = tmp_path / "moved.json"
    os.replace(path, moved)  # noqa: PTH105  one line
    with pytest.raises(BadInputError, match="is not in opencode's folder"):
        sync(MemoryLog(), moved)


@pytest.mark.parametrize("time", ["now", 1, [], {"created": "now"}, {"created": 1e300}])
def test_impossible_times_harm_no_session(tmp_path: Path, time: object) -> None:
    assert sync(MemoryLog(), tree(tmp_path, [asked(1)], time=time)).added == 2
