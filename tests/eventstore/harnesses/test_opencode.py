"""opencode's exports and databases: each record is there, and an export comes back whole."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eventstore.errors import BadInputError, NoSessionError
from eventstore.event import Event
from eventstore.files.exporting import export_original, export_session
from eventstore.files.importing import ImportResult, import_sessions
from eventstore.harnesses.opencode import document
from eventstore.harnesses.opencode.session_records import KEEPS_BEFORE, VERSION, version_of
from eventstore.imports import origin_of, started_link
from eventstore.memory import MemoryLog
from eventstore.paths import events as events_in
from eventstore.records import Link, record_of
from projections.context.build import build_context, harness_json
from projections.context.cursor import resolve_cursor
from projections.descriptions import title
from projections.files import file_operations
from projections.usage import answers
from tests.support.events import NOW, events
from tests.support.opencode import MODEL, SESSION, START, Database, id_at
from tests.support.opencode_damage import CHECKS

Json = dict[str, Any]


def exported(*messages: Json, **info: Any) -> bytes:
    document = {"info": {"id": SESSION, "version": "1.18.3", **info}, "messages": list(messages)}
    return json.dumps(document, indent=2).encode()


def user(name: str, text: str = "hi") -> Json:
    info = {"id": name, "role": "user", "time": {"created": START + len(name)}, "model": MODEL}
    return {"info": info, "parts": [{"id": f"prt_{name}", "type": "text", "text": text}]}


def import_bytes(log: MemoryLog, folder: Path, data: bytes) -> ImportResult:
    file = folder / "export.json"
    file.write_bytes(data)
    (found,) = import_sessions(log, file)
    return found


def test_real_exports_come_back_whole(corpus: Path) -> None:
    for file in sorted(corpus.glob("opencode/*.json")):
        log = MemoryLog()
        (found,) = import_sessions(log, file)
        assert b"".join(export_original(log, found.id)) == file.read_bytes()
        info, *messages = [json.loads(each.body) for each in events(log, found.id) if not each.is_own]
        assert {"info": info, "messages": messages} == json.loads(file.read_bytes())
        assert (found.skipped, found.added) == ([], 1 + len(messages))


@pytest.mark.parametrize("lead", [b"", b"Exporting session: {a}\n"])
def test_sound_exports_are_read_like_damaged_ones(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lead: bytes
) -> None:
    smallest = sorted((corpus / "opencode").glob("*.json"), key=lambda each: each.stat().st_size)[:3]
    for file in smallest:
        path = tmp_path / file.name
        path.write_bytes(lead + file.read_bytes())
        found = list[list[Event]]()
        for unused in ("_decode", "_ends_in"):
            with monkeypatch.context() as patch:
                patch.setattr(document, unused, lambda *_: {})
                log = MemoryLog(clock=lambda: NOW)
                [each] = import_sessions(log, path)
                found.append([event for event in events(log, each.id) if not event.is_own])
        assert found[0] == found[1]
        assert len(found[0]) > 1


def test_a_message_within_another_belongs_to_it(tmp_path: Path) -> None:
    outer, log = user("msg_1"), MemoryLog()
    outer["parts"].append({"id": "prt_2", "type": "tool", "state": {"metadata": {"last": user("msg_12")}}})
    assert import_bytes(log, tmp_path, exported(outer)).skipped == []
    assert json.loads(events(log, SESSION)[1].body) == outer


def test_a_line_before_an_export_is_kept(tmp_path: Path) -> None:
    log, data = MemoryLog(), b"Exporting session: ses_ff01\n" + exported(user("msg_1"))
    found = import_bytes(log, tmp_path, data)
    assert b"".join(export_original(log, found.id)) == data


def test_an_export_that_grew_adds_its_messages(tmp_path: Path) -> None:
    log = MemoryLog()
    import_bytes(log, tmp_path, exported(user("msg_1")))
    found = import_bytes(log, tmp_path, exported(user("msg_1"), user("msg_12")))
    assert (found.added, found.rewritten) == (1, 0)
    assert import_bytes(log, tmp_path, exported(user("msg_1"), user("msg_12"))).added == 0


def test_an_export_that_changed_shows_the_change(tmp_path: Path) -> None:
    log = MemoryLog()
    import_bytes(log, tmp_path, exported(user("msg_1", "old")))
    assert import_bytes(log, tmp_path, exported(user("msg_1", "new"))).rewritten == 1
    assert b'"new"' in harness_json(build_context(log, SESSION))
    assert b'"old"' in harness_json(build_context(log, SESSION, as_of=2))


def test_a_changed_title_changes_no_parent(tmp_path: Path) -> None:
    log = MemoryLog()
    import_bytes(log, tmp_path, exported(user("msg_1"), title="old"))
    changed = import_bytes(log, tmp_path, exported(user("msg_1"), title="new"))
    assert (changed.rewritten, changed.differs_from_harness) == (1, [])


@pytest.mark.parametrize(("cut", "count"), [(200, 0), (700, 1), (1100, 2)])
def test_messages_of_a_torn_export_are_read(tmp_path: Path, cut: int, count: int) -> None:
    whole = exported(user("msg_1"), user("msg_12"), user("msg_123"))
    log = MemoryLog()
    found = import_bytes(log, tmp_path, whole[:cut])
    names = [each.id for each in events(log, SESSION) if each.kind == "message"]
    assert names == ["msg_1", "msg_12", "msg_123"][:count]
    assert len(found.skipped) == 1
    assert b"".join(export_original(log, SESSION)) == whole[:cut]


def test_repeated_and_nameless_messages_are_skipped(tmp_path: Path) -> None:
    nameless = {"info": {"role": "user"}, "parts": []}
    data = exported(user("msg_1"), user("msg_1"), nameless, user("msg_12"), user("msg_12", "other"))
    log = MemoryLog()
    found = import_bytes(log, tmp_path, data)
    assert [remark.line for remark in found.skipped] == [3, 4]
    assert [each.id for each in events(log, SESSION) if "~" in each.id] == ["ses_ff01~info", "msg_12~6"]
    assert b"".join(export_original(log, SESSION)) == data


def test_records_of_a_database_are_its_events(tmp_path: Path) -> None:
    database = Database(tmp_path)
    database.begin()
    database.ask("msg_1", "hi")
    database.answer("msg_2", "hello")
    log = MemoryLog()
    import_sessions(log, database.path)
    records = [json.loads(each.body) for each in events(log, SESSION) if not each.is_own]
    assert [each["seq"] for each in records] == list(range(6))
    assert records[-2]["data"]["part"]["text"] == "hello"


def test_a_growing_database_gives_the_same_session(tmp_path: Path) -> None:
    database, grown, once = Database(tmp_path), MemoryLog(clock=lambda: 0), MemoryLog(clock=lambda: 0)
    database.begin()
    steps = [
        lambda: database.ask("msg_1", "hi"),
        lambda: database.answer("msg_2", "hello"),
        lambda: database.compact("msg_3", "msg_4", "so far", tail="msg_2"),
        lambda: database.ask("msg_5", "other"),
        lambda: database.event("message.removed.1", {"messageID": "msg_5"}),
        lambda: database.ask("msg_6", "last"),
    ]
    for step in steps:
        step()
        (found,) = import_sessions(grown, database.path)
        assert found.added > 0
        (found,) = import_sessions(grown, database.path)
        assert (found.added, found.rewritten) == (0, 0)
    import_sessions(once, database.path)
    sides = [
        [(each.id, each.kind, each.parent, each.body) for each in events(log, SESSION) if not each.is_own]
        for log in (grown, once)
    ]
    assert sides[0] == sides[1]
    assert harness_json(build_context(grown, SESSION)) == harness_json(build_context(once, SESSION))


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_opencode_writes_while_its_database_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("eventstore.files.batching.BATCH_EVENTS", 1)
    database = Database(tmp_path)
    with closing(sqlite3.connect(database.path, timeout=0, isolation_level=None)) as writer:
        assert writer.execute(f"PRAGMA journal_mode={mode}").fetchone() == (mode,)
        database.begin()
        database.ask("msg_1", "hi")

        class WrittenMeanwhile(MemoryLog):
            def append(self, *args: Any, **more: Any) -> Any:
                writer.execute("UPDATE session SET title = title || '.'")
                states.append(writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
                return super().append(*args, **more)

        states = list[int]()
        log = WrittenMeanwhile()
        import_sessions(log, database.path)
        assert set(states) == {0}
        database.ask("msg_2", "more")
        (found,) = import_sessions(log, database.path)
    assert found.added == 2
    assert b'"more"' in harness_json(build_context(log, SESSION))


def test_only_changed_sessions_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, log = Database(tmp_path), MemoryLog()
    for session in ("ses_a", "ses_b"):
        database.begin(session)
        database.ask(f"msg_{session}", "hi", session)
    import_sessions(log, database.path)
    database.ask("msg_9", "more", "ses_b")
    read = list[str]()
    connect = sqlite3.connect

    def traced(*args: Any, **more: Any) -> sqlite3.Connection:
        opened = connect(*args, **more)
        opened.set_trace_callback(read.append)
        return opened

    monkeypatch.setattr("sqlite3.connect", traced)
    found = {each.id: each.added for each in import_sessions(log, database.path)}
    assert found == {"ses_a": 0, "ses_b": 2}
    whole = [statement for statement in read if "data FROM event" in statement and "LIMIT" not in statement]
    assert whole
    assert not [statement for statement in whole if "ses_a" in statement]
    assert not [statement for statement in read if "account" in statement or "credential" in statement]


def test_rows_without_events_are_messages(tmp_path: Path) -> None:
    database, log = Database(tmp_path, has_events=False), MemoryLog()
    row = {
        "id": SESSION,
        "directory": "/home/user",
        "title": "A title",
        "version": "1.15.5",
        "time_created": START,
    }
    database.insert("session", **row)
    info = {"role": "user", "time": {"created": START}, "model": MODEL}
    database.insert("message", id="msg_1", session_id=SESSION, time_created=START, data=info)
    part = {"id": "prt_1", "message_id": "msg_1", "session_id": SESSION}
    database.insert("part", **part, data={"type": "text", "text": "old"})
    import_sessions(log, database.path)
    assert title(log, SESSION) == "A title"
    database.insert("part", **part, data={"type": "text", "text": "other"})
    with sqlite3.connect(database.path) as opened:
        opened.execute("DELETE FROM part WHERE json_extract(data, '$.text') = 'old'")
    (found,) = import_sessions(log, database.path)
    assert (found.added, found.rewritten) == (0, 1)
    assert b'"other"' in harness_json(build_context(log, SESSION))


def test_events_continue_the_rows_before_them(tmp_path: Path) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.insert("session", id=SESSION, version="1.15.5", time_created=START)
    info = {"role": "user", "time": {"created": START}, "model": MODEL}
    database.insert("message", id="msg_000000000001", session_id=SESSION, time_created=START, data=info)
    database.insert(
        "part",
        id="prt_1",
        message_id="msg_000000000001",
        session_id=SESSION,
        data={"type": "text", "text": "old"},
    )
    database.insert("message", id="msg_ffffffffff01", session_id=SESSION, time_created=START + 1, data=info)
    told = {"info": {"id": "msg_ffffffffff01", **info}}
    said = {"part": {"id": "prt_2", "messageID": "msg_ffffffffff01", "type": "text", "text": "new"}}
    for seq, (kind, data) in enumerate([("message.updated.1", told), ("message.part.updated.1", said)], 7):
        database.insert(
            "event", id=f"evt_ffffffffff1{seq}", aggregate_id=SESSION, seq=seq, type=kind, data=data
        )
    import_sessions(log, database.path)
    assert [each.id for each in events(log, SESSION) if each.kind == "message"] == [
        "msg_000000000001",
        "evt_ffffffffff18",
    ]
    assert len(build_context(log, SESSION).parts) == 2
    assert import_sessions(log, database.path)[0].added == 0


def test_sessions_that_calls_started_are_linked(tmp_path: Path) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.begin()
    database.begin("ses_ee02", parent_id=SESSION)
    database.message("msg_1", "assistant")
    state = {"status": "completed", "input": {}, "output": "done", "metadata": {"sessionId": "ses_ee02"}}
    database.part("msg_1", "prt_1", type="tool", tool="task", callID="call_1", state=state)
    database.ask("msg_2", "look", "ses_ee02")
    import_sessions(log, database.path)
    with log.snapshot() as snapshot:
        started = snapshot.locate(SESSION, started_link("ses_ee02"))
        (call,) = (each for each in events_in(snapshot, SESSION) if each.kind == "message")
        link = record_of(
            "link", next(each.body for each in events_in(snapshot, SESSION) if each.seq == started)
        )
        assert isinstance(link, Link)
        assert (link.session, link.event) == ("ses_ee02", call.id)
        origin = origin_of(snapshot, "ses_ee02", "subagent")
        assert origin is not None
        assert (origin.session, origin.event) == (SESSION, call.id)


def test_a_fork_is_linked_to_its_original(tmp_path: Path) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.begin()
    database.insert("message", id="msg_1", session_id=SESSION, time_created=START + 1, data={})
    database.begin("ses_ee02", time_created=START + 9000)
    database.insert("message", id="msg_2", session_id="ses_ee02", time_created=START + 1, data={})
    import_sessions(log, database.path)
    with log.snapshot() as snapshot:
        origin = origin_of(snapshot, "ses_ee02", "fork")
        assert origin is not None
        assert origin.session == SESSION
        assert origin_of(snapshot, SESSION, "fork") is None


def test_titles_of_models_name_sessions(tmp_path: Path) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.begin()
    import_sessions(log, database.path)
    assert title(log, SESSION) == ""
    for named in ("A title", "A title", "Another"):
        database.event("session.updated.1", {"info": {"id": SESSION, "title": named}})
    import_sessions(log, database.path)
    assert title(log, SESSION) == "Another"


def test_calls_name_the_files_that_they_touch(tmp_path: Path) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.begin()
    database.message("msg_1", "assistant")
    for place, (tool, given) in enumerate(
        [
            ("read", {"filePath": "/a"}),
            ("edit", {"filePath": "/b"}),
            ("write", {"filePath": "/c"}),
            ("apply_patch", {"patchText": "*** Begin Patch\n*** Update File: /d\n*** End Patch"}),
        ]
    ):
        state = {"status": "completed", "input": given, "output": ""}
        database.part("msg_1", f"prt_{place}", type="tool", tool=tool, callID=f"call_{place}", state=state)
    import_sessions(log, database.path)
    found = file_operations(log, SESSION)
    assert (found.read_files, found.modified_files) == (["/a"], ["/b", "/c", "/d"])


def test_relative_and_absolute_names_are_one_file(tmp_path: Path) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.begin()
    database.message("msg_1", "assistant", path={"cwd": "/home/user"})
    patch = "*** Begin Patch\n*** Update File: src/a.py\n*** End Patch"
    for tool, given in (("read", {"filePath": "/home/user/src/a.py"}), ("apply_patch", {"patchText": patch})):
        state = {"status": "completed", "input": given, "output": ""}
        database.part("msg_1", f"prt_{tool}", type="tool", tool=tool, callID=tool, state=state)
    import_sessions(log, database.path)
    found = file_operations(log, SESSION)
    assert (found.read_files, found.modified_files) == ([], ["/home/user/src/a.py"])


def test_copies_of_a_fork_count_no_tokens(tmp_path: Path) -> None:
    database, log = Database(tmp_path), MemoryLog()
    tokens = {"input": 7, "output": 5, "cache": {"read": 0, "write": 0}}
    database.begin()
    for session, times in ((SESSION, [START]), ("ses_ee02", [START, START + 10_000])):
        began = times[-1]
        if session != SESSION:
            database.begin(session, time_created=began)
        for made in times:
            name = id_at(began + (made == began))
            database.message(name, "assistant", session, time={"created": made})
            database.part(name, f"prt_{name}", session, type="text", text="hi", time={"start": 1, "end": 2})
            database.part(name, f"prt_{name}_z", session, type="step-finish", tokens=tokens)
    import_sessions(log, database.path)
    with log.snapshot() as snapshot:
        counted = [
            [each.message.usage for each in answers(snapshot, resolve_cursor(snapshot, session))]
            for session in (SESSION, "ses_ee02")
        ]
    assert [[usage and usage.input for usage in of_session] for of_session in counted] == [[7], [None, 7]]


def test_data_that_is_no_json_is_reported(tmp_path: Path) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.begin()
    database.insert("event", id="evt_x", aggregate_id=SESSION, seq=1, type="message.updated.1", data="{torn")
    database._seqs[SESSION] = 2
    database.ask("msg_1", "hi")
    (found,) = import_sessions(log, database.path)
    assert [remark.reason for remark in found.differs_from_harness] == [
        "the data of event 'evt_x' cannot be read"
    ]
    assert len(build_context(log, SESSION).parts) == 1


def test_other_databases_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "opencode.db"
    with sqlite3.connect(file) as opened:
        opened.execute("CREATE TABLE t (a)")
    with pytest.raises(NoSessionError, match="no sessions of opencode"):
        import_sessions(MemoryLog(), file)
    file.write_bytes(b"SQLite format 3\0" + bytes(2000))
    with pytest.raises(BadInputError, match="cannot be read"):
        import_sessions(MemoryLog(), file)


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("1.14.34", KEEPS_BEFORE),
        ("v1.16.0", VERSION),
        ("1.14.41", VERSION),
        ("0.0.0-dev", KEEPS_BEFORE),
        (None, VERSION),
    ],
)
def test_releases_order_what_a_compaction_keeps(release: str | None, version: str) -> None:
    assert version_of(release) == version


def test_a_database_is_written_as_an_export(tmp_path: Path) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.begin()
    database.ask("msg_1", "hi")
    database.answer("msg_2", "hello")
    database.ask("msg_3", "gone")
    database.event("message.removed.1", {"messageID": "msg_3"})
    import_sessions(log, database.path)
    written = json.loads(b"".join(export_session(log, SESSION, "opencode")))
    assert [each["info"]["id"] for each in written["messages"]] == ["msg_1", "msg_2"]
    assert [part["text"] for each in written["messages"] for part in each["parts"]] == ["hi", "hello"]
    assert (written["info"]["id"], written["messages"][1]["info"]["finish"]) == (SESSION, "stop")


def test_real_exports_are_written_again(corpus: Path) -> None:
    for file in sorted(corpus.glob("opencode/*.json")):
        log = MemoryLog()
        (found,) = import_sessions(log, file)
        assert json.loads(b"".join(export_session(log, found.id, "opencode"))) == json.loads(
            file.read_bytes()
        )


def test_damaged_sessions_lose_no_whole_message(tmp_path: Path) -> None:
    for check, count in zip(CHECKS.values(), (60, 5, 20), strict=True):
        for seed in range(count):
            check(random.Random(seed), tmp_path)


def test_a_damaged_session_name_loses_no_message(tmp_path: Path) -> None:
    messages = [user("msg_1"), user("msg_12"), user("msg_123")]
    for each, name in zip(messages, ["ses_ff" + "[" * 500, SESSION, SESSION], strict=True):
        each["info"]["sessionID"] = name
    log = MemoryLog()
    for some in (messages, messages[:2]):
        found = import_bytes(log, tmp_path, exported(*some).replace(b'"version"', b'"version', 1))
        assert (found.id, found.events) == (SESSION, len(some))


@pytest.mark.parametrize("time", [1 << 60, -5, True, "soon"])
def test_an_impossible_time_is_no_time(tmp_path: Path, time: object) -> None:
    database, log = Database(tmp_path), MemoryLog()
    database.begin()
    database.ask("msg_1", "hi", time={"created": time})
    database.event("message.part.updated.1", {"part": {"messageID": "msg_1"}, "time": time})
    database.event("session.updated.1", {"info": {"id": SESSION, "time": {"updated": time}}})
    import_sessions(log, database.path)
    assert {each.time for each in events(log, SESSION) if "evt" in each.id} <= {None, START, START + 1000}
