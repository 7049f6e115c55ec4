"""Claude Code's agents, sidechains and copies are sessions that are linked, whichever half comes first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest

from eventstore.errors import EventConflictError
from eventstore.files.batching import EventBatches
from eventstore.files.exporting import export_original
from eventstore.files.importing import import_sessions
from eventstore.imports import origin_of
from eventstore.log import AppendResult
from eventstore.memory import MemoryLog
from projections.audit.cost import session_cost
from projections.audit.prices import library_prices
from projections.context.build import build_context
from tests.support.claude_code import SESSION, answer, bring, call, line, record, result, said
from tests.support.events import events
from tests.support.recording_snapshot import RecordingSnapshot

AGENT = f"{SESSION}/agent-a1"
PARENT = (
    said("u", None, "look"),
    answer("a", "u", "m1", call("t", "Task", prompt="look around")),
    result("r", "a", "t", "done", toolUseResult={"agentId": "a1"}, sourceToolAssistantUUID="a"),
)
CHILD = (
    said("x", None, "look around", isSidechain=True, agentId="a1"),
    answer("y", "x", "m9", "looked", isSidechain=True, agentId="a1"),
)


def origin(log: MemoryLog, session: str, relation: str = "subagent") -> tuple[str, str] | None:
    with log.snapshot() as snapshot:
        link = origin_of(snapshot, session, relation)  # type: ignore[arg-type]
        return (link.session, link.event) if link else None


def started(log: MemoryLog, session: str = SESSION) -> list[tuple[str, str]]:
    bodies = [json.loads(each.body) for each in events(log, session) if each.kind == "link"]
    return [(each["session"], each["event"]) for each in bodies if each["relation"] == "child"]


@pytest.mark.parametrize("order", ["pc", "cp", "pcpc"])
def test_an_agents_file_is_linked_to_the_call_that_started_it(tmp_path: Path, order: str) -> None:
    log = MemoryLog()
    for each in order:
        bring(log, tmp_path / f"{each}.jsonl", *(PARENT if each == "p" else CHILD))
    assert origin(log, AGENT) == (SESSION, "a")
    assert started(log) == [(AGENT, "a")]
    assert [part.role for part in build_context(log, AGENT).parts] == ["user", "assistant"]


def written(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def test_an_import_that_another_process_completes_meanwhile_makes_the_same_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The link stands between two records.
    path = written(tmp_path / "p.jsonl", *PARENT, answer("b", "r", "m2", "Done."))
    log, conflicts = MemoryLog(), list[str]()
    derive, append = EventBatches._derive, MemoryLog.append

    def after_another(*args: Any) -> None:
        monkeypatch.undo()
        import_sessions(log, path)
        monkeypatch.setattr(MemoryLog, "append", watched)
        derive(*args)

    def watched(itself: MemoryLog, session: str, *args: Any, **options: Any) -> AppendResult:
        try:
            return append(itself, session, *args, **options)
        except EventConflictError:
            conflicts.append(session)
            raise

    # The other one ends before the first link is looked up.
    monkeypatch.setattr(EventBatches, "_derive", after_another)
    (result,) = import_sessions(log, path)
    assert (result.added, conflicts) == (0, [])


def test_a_link_that_another_process_writes_otherwise_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, path, append = MemoryLog(), written(tmp_path / "p.jsonl", *PARENT), MemoryLog.append
    bring(log, tmp_path / "c.jsonl", *CHILD)

    def after_another(itself: MemoryLog, session: str, *args: Any, **options: Any) -> AppendResult:
        if session == AGENT:
            monkeypatch.undo()
            import_sessions(log, path, name="copy")
        return append(itself, session, *args, **options)

    monkeypatch.setattr(MemoryLog, "append", after_another)
    import_sessions(log, path)
    assert origin(log, AGENT) == ("copy", "a")
    assert started(log) == started(log, "copy") == [(AGENT, "a")]


@pytest.mark.parametrize("order", ["pc", "cp", "pcpc"])
@pytest.mark.parametrize("grows", [False, True])
def test_an_agent_that_is_resumed_belongs_to_the_first_call(
    tmp_path: Path, order: str, *, grows: bool
) -> None:
    log = MemoryLog()
    again = (
        answer("a2", "r", "m2", call("t2", "Task", prompt="go on")),
        result("r2", "a2", "t2", "done", toolUseResult={"agentId": "a1"}, sourceToolAssistantUUID="a2"),
    )
    if grows:
        bring(log, tmp_path / "p.jsonl", *PARENT)
    for each in order:
        bring(log, tmp_path / f"{each}.jsonl", *(PARENT + again if each == "p" else CHILD))
    assert origin(log, AGENT) == (SESSION, "a")
    assert started(log) == [(AGENT, "a")]


def test_one_half_says_what_it_knows_of_the_other(tmp_path: Path) -> None:
    alone = MemoryLog()
    bring(alone, tmp_path / "c.jsonl", *CHILD)
    assert origin(alone, AGENT) == (SESSION, "")
    other = MemoryLog()
    bring(other, tmp_path / "p.jsonl", *PARENT)
    assert started(other) == [(AGENT, "a")]


@pytest.mark.parametrize("agent", ["a1", None])
def test_a_sidechain_in_the_file_is_a_session_of_its_own(tmp_path: Path, agent: str | None) -> None:
    log = MemoryLog()
    named = {"isSidechain": True, **({"agentId": agent} if agent else {})}
    side = (said("x", None, "look around", **named), answer("y", "x", "m9", "looked", **named))
    imported = bring(log, tmp_path / "s.jsonl", *PARENT[:2], *side, PARENT[2])
    name = AGENT if agent else f"{SESSION}/sidechain-x"
    assert [each.id for each in imported] == [SESSION, name]
    assert [part.id for part in build_context(log, SESSION).parts] == ["u", "a", "r"]
    assert [part.id for part in build_context(log, name).parts] == ["x", "y"]
    assert origin(log, name) == (SESSION, "a")
    assert (name, "a") in started(log)
    assert not any(each.added for each in bring(log, tmp_path / "s.jsonl", *PARENT[:2], *side, PARENT[2]))


def test_sidechains_that_begin_below_a_record_of_the_session_are_told_apart(tmp_path: Path) -> None:
    imported = bring(
        MemoryLog(),
        tmp_path / "s.jsonl",
        said("u1", None, "go"),
        said("x1", "u1", "one", isSidechain=True),
        said("y1", "u1", "two", isSidechain=True),
        said("x2", "x1", "one more", isSidechain=True),
        said("z", "gone", "of the newest", isSidechain=True),
        said("w", {"no": "id"}, "of the newest, too", isSidechain=True),  # type: ignore[arg-type]
    )
    assert [(each.id.removeprefix(SESSION), each.events) for each in imported] == [
        ("", 1),
        ("/sidechain-x1", 4),
        ("/sidechain-y1", 1),
    ]


def test_a_sidechain_that_begins_where_the_file_has_grown_is_linked(tmp_path: Path) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    bring(log, path, *PARENT)
    bring(log, path, *PARENT, said("x", None, "look", isSidechain=True))
    assert origin(log, f"{SESSION}/sidechain-x") == (SESSION, "")


def test_a_sidechain_that_begins_while_the_file_is_read_is_no_part_of_its_session(tmp_path: Path) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    # So long that progress is reported behind it, before the file's end is read.
    lines = (said("u", None, "a" * 200_000), answer("b", "u", "m1", "yes"))
    grown = b"\n".join([*lines, said("x", None, "look", isSidechain=True), b""])
    path.write_bytes(b"\n".join([*lines, b""]))

    def begins(*_: int) -> None:
        path.write_bytes(grown)

    import_sessions(log, path, progress=begins)
    imported = import_sessions(log, path)
    assert [(each.id, each.events) for each in imported] == [(SESSION, 2), (f"{SESSION}/sidechain-x", 1)]
    assert [part.id for part in build_context(log, SESSION).parts] == ["u", "b"]


def test_a_sidechain_goes_on_where_the_file_has_grown(tmp_path: Path) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    side = (said("x", None, "look", isSidechain=True), answer("y", "x", "m9", "ok", isSidechain=True))
    bring(log, path, *PARENT, side[0])
    bring(log, path, *PARENT, *side)
    assert [part.id for part in build_context(log, f"{SESSION}/sidechain-x").parts] == ["x", "y"]


@pytest.mark.slow
@pytest.mark.parametrize("records", [1, 300, 1000])
@pytest.mark.parametrize(
    ("stem", "session"), [("6", "6"), ("with space", "with space"), ("6", SESSION), ("with space", SESSION)]
)
def test_sidechains_and_the_files_name_are_found_however_far_into_it(
    tmp_path: Path, records: int, stem: str, session: str
) -> None:
    log = MemoryLog()
    ids = ["u", *(f"u{number}" for number in range(records))]
    long = [said(own, parent, "x" * 1000) for parent, own in pairwise(ids)]
    side = (said("x", None, "look", isSidechain=True), answer("y", "x", "m9", "ok", isSidechain=True))
    own = said("v", ids[-1], "mine", sessionId=session)
    imported = bring(log, tmp_path / f"{stem}.jsonl", said("u", None, "go"), *long, *side, own)
    assert [(each.id, each.added > 0) for each in imported] == [
        (session, True),
        (f"{session}/sidechain-x", True),
    ]
    assert [part.id for part in build_context(log, f"{session}/sidechain-x").parts] == ["x", "y"]
    assert len(build_context(log, session).parts) == records + 2


def recording(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> list[RecordingSnapshot]:
    """Return the snapshots that will be taken of a log."""
    asked: list[RecordingSnapshot] = []

    @contextmanager
    def recorded() -> Iterator[RecordingSnapshot]:
        with MemoryLog.snapshot(log) as snapshot:
            asked.append(RecordingSnapshot(snapshot))
            yield asked[-1]

    monkeypatch.setattr(log, "snapshot", recorded)
    return asked


def test_the_index_of_each_other_session_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = MemoryLog()
    for name in ("one", "two"):
        bring(log, tmp_path / f"{name}.jsonl", said(f"u-{name}", None, "hi", sessionId=name))
    asked = recording(log, monkeypatch)
    bring(log, tmp_path / "s.jsonl", said("u", None, "hi"))
    bring(log, tmp_path / "s.jsonl", said("u", None, "hi"), said("v", "u", "more"))
    sessions = {session for each in asked for session in each.sessions}
    assert SESSION in sessions
    assert sessions.isdisjoint({"", "one", "two"})


def test_many_copies_are_not_asked_for_each_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies, log = 12, MemoryLog()
    records = [(f"v{at}", at) for at in range(40)]
    for number in range(copies):
        copied(log, tmp_path, f"copy-{number}", *records)
    asked = recording(log, monkeypatch)
    copied(log, tmp_path, SESSION, *records)
    assert sum(each.read for each in asked) < copies * len(records) / 2


@pytest.mark.parametrize("order", list(permutations("3456")))
def test_the_origin_is_a_session_with_all_records_up_to_the_first_own_one(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    paths = {"3": "v", "4": "vw", "5": "vwx", "6": "y"}
    log = MemoryLog()
    for name in order:
        copied(log, tmp_path, name, *((uuid, 9) for uuid in paths[name]))
    # It has the third record of the path, but not the second.
    bring(log, tmp_path / "7.jsonl", *(said(uuid, None, "hi", sessionId="7") for uuid in ("u", "w", "x")))
    copied(log, tmp_path, SESSION, ("v", 9), ("w", 9), ("x", 9), ("z", 20))
    assert origin(log, SESSION, "fork") == ("5", "x")


@pytest.mark.parametrize("order", [(SESSION, "6"), ("6", SESSION)])
def test_a_copy_is_known_by_the_records_that_it_shares(tmp_path: Path, order: tuple[str, str]) -> None:
    log = MemoryLog()
    for name in order:
        shared = (said("u", None, "hi", sessionId=name), answer("a", "u", "m1", "yes", sessionId=name))
        bring(log, tmp_path / f"{name}.jsonl", *shared, said(f"own-{name[:3]}", "a", "more", sessionId=name))
    assert origin(log, "6", "fork") == (SESSION, "a")
    assert origin(log, SESSION, "fork") is None


@pytest.mark.parametrize("order", list(permutations((SESSION, "6", "7"))))
def test_of_several_copies_that_end_alike_each_has_one_origin(tmp_path: Path, order: tuple[str, ...]) -> None:
    log = MemoryLog()
    for name in order * 2:
        shared = (said("u", None, "hi", sessionId=name), answer("a", "u", "m1", "yes", sessionId=name))
        bring(log, tmp_path / f"{name}.jsonl", *shared, said(f"own-{name[:3]}", "a", "more", sessionId=name))
    assert origin(log, SESSION, "fork") is None
    assert origin(log, "6", "fork") == (SESSION, "a")
    assert origin(log, "7", "fork") in ((SESSION, "a"), ("6", "a"))


def copied(log: MemoryLog, folder: Path, name: str, *more: tuple[str, int]) -> None:
    """Import the state of a session that begins as others do, with more records and their times."""
    lines = [said("u", None, "hi", sessionId=name), answer("a", "u", "m1", "yes", sessionId=name)]
    for parent, (uuid, at) in zip(("a", *(uuid for uuid, _ in more)), more, strict=False):
        lines.append(said(uuid, parent, "more", sessionId=name, at=at))
    bring(log, folder / f"{name}.jsonl", *lines)


@pytest.mark.parametrize("copy", ["4", "6"])
def test_a_copy_that_was_imported_before_it_grew_is_linked(tmp_path: Path, copy: str) -> None:
    log = MemoryLog()
    copied(log, tmp_path, SESSION)
    copied(log, tmp_path, copy)
    copied(log, tmp_path, copy, ("v", 9))
    assert origin(log, copy, "fork") == (SESSION, "a")
    copied(log, tmp_path, SESSION, ("w", 10))
    copied(log, tmp_path, copy, ("v", 9), ("x", 11))
    assert origin(log, SESSION, "fork") is None
    assert origin(log, copy, "fork") == (SESSION, "a")


@pytest.mark.parametrize("copy", ["4", "6"])
def test_a_copy_is_linked_when_its_original_comes_later(tmp_path: Path, copy: str) -> None:
    log = MemoryLog()
    copied(log, tmp_path, copy, ("v", 9))
    copied(log, tmp_path, SESSION)
    assert origin(log, copy, "fork") == (SESSION, "a")
    assert origin(log, SESSION, "fork") is None


@pytest.mark.parametrize("order", list(permutations(("4", SESSION, "6"))))
def test_the_original_is_the_session_that_continued_first(tmp_path: Path, order: tuple[str, ...]) -> None:
    log, times = MemoryLog(), {"4": 20, SESSION: 10, "6": 30}
    for name in order:
        copied(log, tmp_path, name, (f"own-{name[:1]}", times[name]))
    assert origin(log, SESSION, "fork") is None
    assert origin(log, "4", "fork") == (SESSION, "a")
    assert origin(log, "6", "fork") in ((SESSION, "a"), ("4", "a"))


@pytest.mark.parametrize("order", ["pc", "cp"])
def test_links_name_a_session_as_it_was_imported(tmp_path: Path, order: str) -> None:
    log = MemoryLog()
    for each in order:
        path = tmp_path / f"{each}.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in (PARENT if each == "p" else CHILD)))
        import_sessions(log, path, name="copy" if each == "p" else None)
    assert origin(log, AGENT) == ("copy", "a")
    assert started(log, "copy") == [(AGENT, "a")]


def test_agents_of_a_session_with_a_long_name_do_not_share_one(tmp_path: Path) -> None:
    log, session = MemoryLog(), "a" * 98
    for agent in ("a1", "a2"):
        bring(
            log,
            tmp_path / f"{agent}.jsonl",
            said("x", None, "look", isSidechain=True, agentId=agent, sessionId=session),
        )
    with log.snapshot() as snapshot:
        names = [head.name for head in snapshot.heads()]
    assert len(names) == 2
    assert max(map(len, names)) <= 100
    assert {origin(log, name) for name in names} == {(session, "")}


def test_a_forked_agent_goes_on_from_its_parents_context(tmp_path: Path) -> None:
    head = line(
        type="fork-context-ref", agentId="a1", parentSessionId=SESSION, parentLastUuid="a", contextLength=2
    )
    log = MemoryLog()
    bring(log, tmp_path / "c.jsonl", head, *CHILD)
    assert [part.id for part in build_context(log, AGENT).parts] == ["x", "y"]
    bring(log, tmp_path / "p.jsonl", *PARENT)
    assert [part.id for part in build_context(log, AGENT).parts] == ["u", "a", "x", "y"]


def test_a_file_with_an_agents_name_is_its_session_also_if_no_record_is_of_a_sidechain(
    tmp_path: Path,
) -> None:
    log = MemoryLog()
    begun = said("b1", None, "go", agentId="a1")
    (agent,) = bring(log, tmp_path / "agent-a1.jsonl", begun)
    (parent,) = bring(log, tmp_path / f"{SESSION}.jsonl", said("u1", None, "hello"))
    assert (agent.id, parent.id) == (f"{SESSION}/agent-a1", SESSION)


def test_an_agents_name_is_needed_for_a_file_of_its_own(tmp_path: Path) -> None:
    side = record("x", None, "user", message={"role": "user", "content": "look"}, isSidechain=True)
    imported = bring(MemoryLog(), tmp_path / "s.jsonl", side)
    assert [each.id for each in imported] == [SESSION, f"{SESSION}/sidechain-x"]


def test_the_calls_of_a_copy_are_paid_for_once(tmp_path: Path) -> None:
    log, prices = MemoryLog(), library_prices()
    for name, more in ((SESSION, "m2"), ("6", "m3")):
        shared = (said("u", None, "hi", sessionId=name), answer("a", "u", "m1", "yes", sessionId=name))
        own = (
            said(f"v{more}", "a", "on", sessionId=name),
            answer(more, f"v{more}", more, "ok", sessionId=name),
        )
        bring(log, tmp_path / f"{name}.jsonl", *shared, *own)
    calls = {name: session_cost(log, name, prices=prices).spent.calls for name in (SESSION, "6")}
    assert calls == {SESSION: 2, "6": 1}


def test_a_grown_agents_original_is_its_newest_file(tmp_path: Path) -> None:
    log, path = MemoryLog(), tmp_path / SESSION / "subagents" / "agent-x1.jsonl"
    path.parent.mkdir(parents=True)
    first = said("x", None, "look around", isSidechain=True, agentId="x1")
    second = answer("y", "x", "m9", "looked", isSidechain=True, agentId="x1")
    for lines in ((first,), (first, second), (first.replace(b"around", b"elsewhere"), second)):
        (agent,) = bring(log, path, *lines)
        assert b"".join(export_original(log, agent.id)) == path.read_bytes()
