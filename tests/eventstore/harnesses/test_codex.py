"""Codex's rollouts: read whole, given back byte for byte, and what their records mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.store import remarks_on
from eventstore import open_store
from eventstore.errors import BadInputError
from eventstore.event import Event
from eventstore.files.discovery import session_places
from eventstore.files.exporting import export_original, export_session
from eventstore.files.importing import ImportResult, import_sessions
from eventstore.harnesses import node_of
from eventstore.imports import origin_of
from eventstore.memory import MemoryLog
from eventstore.records import Link, own_record
from eventstore.verify import verify
from projections.context.cursor import resolve_cursor
from projections.descriptions import summary_line
from projections.usage import answers
from tests.support import codex
from tests.support.events import events

REVERTED = "01a22150-4fbe-7e00-83d1-034094e56470"
CHILD = "01a22150-5188-75a3-93b8-789d27cba76b"


def bring(log: MemoryLog, folder: Path, content: bytes, name: str = codex.name_of()) -> ImportResult:
    path = folder / name
    path.write_bytes(content)
    return import_sessions(log, path)[0]


def made_of(content: bytes, folder: Path) -> list[Event]:
    log = MemoryLog()
    imported = bring(log, folder, content)
    return [each for each in events(log, imported.id) if each.kind not in ("import", "link")]


def links(log: MemoryLog, session: str) -> set[tuple[str, str, str]]:
    found = (own_record(each) for each in events(log, session) if each.kind == "link")
    return {(each.relation, each.session, each.event) for each in found if isinstance(each, Link)}


@pytest.mark.slow
def test_every_file_comes_back_byte_for_byte(corpus: Path, tmp_path: Path) -> None:
    for path in sorted(corpus.glob("codex/*.jsonl")):
        with open_store(tmp_path / path.stem) as log:
            (imported,) = import_sessions(log, path)
            assert (imported.skipped, imported.unknown) == ([], {})
            assert imported.events == len(path.read_bytes().splitlines())
            assert b"".join(export_original(log, imported.id)) == path.read_bytes()
            assert [each.added for each in import_sessions(log, path)] == [0]
            assert verify(log).findings == []


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 23, 100])
def test_growth_in_any_cut_is_the_whole(step: int, tmp_path: Path) -> None:
    content = codex.rollout(
        *(codex.said("one"), codex.called("k", "spawn_agent", message="go")),
        codex.line("token_usage_record", {"usage": codex.usage(10)}),
        *(codex.output("k", json.dumps({"agent_id": CHILD})), codex.answered("same"), codex.answered("same")),
        codex.event("thread_rolled_back", num_turns=1),
        *(codex.said("two"), codex.line("turn_context", {"model": "m", "effort": "high"})),
        codex.compacted("short", codex.said("kept")),
    )
    whole = [(each.id, each.parent, each.kind, each.body) for each in made_of(content, tmp_path)]
    log = MemoryLog()
    for end in range(len(codex.meta()), len(content) + step, step):
        imported = bring(log, tmp_path, content[:end])
    assert b"".join(export_original(log, imported.id)) == content
    grown = [each for each in events(log, imported.id) if each.kind not in ("import", "link", "leaf_moved")]
    assert [(each.id, each.parent, each.kind, each.body) for each in grown] == whole
    assert verify(log).findings == []


def test_files_name_sessions_by_their_rollouts(tmp_path: Path) -> None:
    log, content = MemoryLog(), codex.rollout(codex.said("one"))
    assert bring(log, tmp_path, content).id == codex.THREAD
    reverted = bring(log, tmp_path, content, codex.name_of(rollout=REVERTED))
    assert (reverted.id, reverted.differs_from_harness) == (REVERTED, [])


def test_sealed_compactions_say_who_reads_them(tmp_path: Path) -> None:
    sealed = codex.item("compaction", encrypted_content="x" * 400)
    *_, compaction = made_of(codex.rollout(codex.said("one"), codex.compacted("", sealed)), tmp_path)
    assert summary_line(compaction) == "∑ history that only openai can read"


def test_a_lost_name_is_said_once(tmp_path: Path) -> None:
    log, content = MemoryLog(), codex.rollout(codex.said("one"))
    lost = bring(log, tmp_path, content, "copy.jsonl")
    assert (lost.id, [each.line for each in lost.differs_from_harness]) == (codex.THREAD, [0])
    assert remarks_on(lost) == []
    grown = content + codex.line("response_item", codex.said("two"))
    assert bring(log, tmp_path, grown, "copy.jsonl").differs_from_harness == []
    assert bring(log, tmp_path, grown, "copy.jsonl").differs_from_harness == []


def test_compressed_files_are_what_they_were(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    log, content = MemoryLog(), codex.rollout(codex.said("one"), codex.answered("two"))
    bring(log, tmp_path, content)
    compressed = bring(log, tmp_path, zstd.compress(content), codex.name_of() + ".zst")
    assert (compressed.id, compressed.added) == (codex.THREAD, 0)
    other = MemoryLog()
    bring(other, tmp_path, zstd.compress(content), codex.name_of() + ".zst")
    assert b"".join(export_original(other, codex.THREAD)) == content
    more = content + codex.line("response_item", codex.said("three"))
    assert bring(other, tmp_path, more).added == 1


def test_torn_compressed_files_are_refused(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    torn = zstd.compress(codex.rollout(codex.said("one")))[:-9]
    with pytest.raises(BadInputError, match="cannot be decompressed"):
        bring(MemoryLog(), tmp_path, torn, codex.name_of() + ".zst")


def test_without_the_library_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("backports.zstd", "backports", "compression", "compression.zstd"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(BadInputError, match=r"install refold\[codex\]"):
        bring(MemoryLog(), tmp_path, b"\x28\xb5\x2f\xfd", codex.name_of() + ".zst")


@pytest.mark.parametrize(
    ("item", "kind", "role"),
    [
        (codex.said("Fix it."), "message", "user"),
        (codex.said("# AGENTS.md instructions for /home/user"), "custom_message", "custom"),
        (codex.said("<environment_context>\n</environment_context>"), "custom_message", "custom"),
        (codex.said("Be good.", "developer"), "custom_message", "custom"),
        (codex.answered("Done."), "message", "assistant"),
        (codex.item("reasoning", summary=[], encrypted_content="x"), "message", "assistant"),
        (codex.called("k", cmd="ls"), "message", "assistant"),
        (codex.output("k"), "message", "toolResult"),
        (codex.item("ghost_snapshot"), "note", ""),
        (codex.item("web_search_call", status="completed"), "message", "assistant"),
    ],
)
def test_an_item_has_its_kind(item: dict[str, Any], kind: str, role: str, tmp_path: Path) -> None:
    event = made_of(codex.rollout(item), tmp_path)[-1]
    assert (event.kind, event.role) == (kind, role)
    assert json.loads(event.message or b"null") == (item if role else None)
    assert node_of(event).by_person == (role == "user")


@pytest.mark.parametrize(("kinds", "is_person"), [(["user.text"], True), (["unknown"], False)])
def test_noted_kinds_tell_who_wrote(kinds: list[str], is_person: bool, tmp_path: Path) -> None:  # noqa: FBT001
    noted = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}}
    event = made_of(codex.rollout(codex.said("<skill>", **noted)), tmp_path)[-1]
    assert node_of(event).by_person is is_person


def test_messages_of_the_host_are_notes(tmp_path: Path) -> None:
    evidence = {"delivered_assistant_message": "codex:code-mode-delivery:v1:x"}
    content = codex.meta() + codex.line("response_item", codex.answered("made up"), metadata=evidence)
    assert made_of(content, tmp_path)[-1].kind == "note"


@pytest.mark.parametrize(
    ("text", "is_error"),
    [
        ("Chunk ID: 1\nProcess exited with code 1\nOutput:\nno", True),
        ("Exit code: 2\nWall time: 0\nOutput:\n", True),
        ("Exit code: 0\nOutput:\nProcess exited with code 1", False),
        ('{"output":"no","metadata":{"exit_code":1}}', True),
        ("Process exited with code 1", False),
    ],
)
def test_an_exit_code_is_a_failure(text: str, is_error: bool, tmp_path: Path) -> None:  # noqa: FBT001
    event = made_of(codex.rollout(codex.output("k", text)), tmp_path)[-1]
    message = node_of(event).message
    assert message is not None
    assert message.is_error is is_error


def test_settings_are_entries_where_they_change(tmp_path: Path) -> None:
    turn = codex.line("turn_context", {"model": "m", "effort": "high"})
    other = codex.line("turn_context", {"model": "m", "effort": "low"})
    back = codex.event("thread_rolled_back", num_turns=1)
    made = made_of(
        codex.rollout(turn, codex.said("one"), turn, codex.said("two"), other, back, other), tmp_path
    )
    assert [each.kind for each in made if each.body in (turn[:-1], other[:-1])] == [
        "model_change",
        "note",
        "model_change",
        "model_change",
    ]


def test_another_provider_is_another_setting(tmp_path: Path) -> None:
    turn = codex.line("turn_context", {"model": "m", "effort": "high"})
    settings = {"model": "m", "reasoning_effort": "high", "model_provider_id": "mine"}
    applied = codex.event("thread_settings_applied", thread_settings=settings)
    made = made_of(codex.rollout(turn, applied, turn, codex.said("one"), applied), tmp_path)
    assert [each.seq for each in made if each.kind == "model_change"] == [2, 3]
    named = node_of(made[2]).settings
    assert named is not None
    assert (named.provider, named.model, named.thinking_level) == ("mine", "m", "high")


@pytest.mark.parametrize("arguments", ["{", "[1]", '"ls"', "[" * 600 + "]" * 600])
def test_arguments_that_are_no_object_are_input(arguments: str, tmp_path: Path) -> None:
    call = {**codex.called("k"), "arguments": arguments}
    (message,) = node_of(made_of(codex.rollout(call), tmp_path)[-1]).messages
    assert message.tool_calls[0].argument("input") == arguments


def test_usage_is_of_the_answer_before_it(tmp_path: Path) -> None:
    usage = codex.line("token_usage_record", {"usage": codex.usage(100, 60)})
    count = codex.event(
        "token_count", info={"total_token_usage": {}, "last_token_usage": codex.usage(100, 60)}
    )
    content = codex.rollout(
        *(codex.said("one"), codex.answered("I look."), codex.called("k", cmd="ls"), usage, count),
        *(codex.output("k"), codex.answered("Done."), usage),
    )
    log = MemoryLog()
    session = bring(log, tmp_path, content).id
    with log.snapshot() as snapshot:
        found = list(answers(snapshot, resolve_cursor(snapshot, session)))
    counted = [(each.message.usage.prompt, each.sent_at) for each in found if each.message.usage]
    sent = {each.seq: node_of(each).messages for each in events(log, session) if each.role}
    assert [(prompt, sent[at][0].role) for prompt, at in counted] == [(100, "user"), (100, "toolResult")]


def test_repeated_counts_are_no_usage(tmp_path: Path) -> None:
    info = {"total_token_usage": {"input_tokens": 1}, "last_token_usage": codex.usage(100)}
    count = codex.event("token_count", info=info)
    made = made_of(codex.rollout(codex.answered("one"), count, codex.answered("two"), count), tmp_path)
    targets = [each.target_seq for each in made if b"token_count" in each.body]
    assert targets == [made[1].seq, 0]


def test_roll_backs_move_above_turns(tmp_path: Path) -> None:
    content = codex.rollout(
        *(codex.said("one"), codex.answered("1"), codex.said("two"), codex.compacted("", codex.said("kept"))),
        *(codex.answered("2"), codex.event("thread_rolled_back", num_turns=1), codex.said("other")),
    )
    made = made_of(content, tmp_path)
    by_seq = {each.seq: each for each in made}
    assert node_of(by_seq[made[-1].parent_seq]).messages[0].text == "1"


@pytest.mark.parametrize("turns", [9, 1])
def test_roll_backs_end_above_all_turns(turns: int, tmp_path: Path) -> None:
    made = made_of(
        codex.rollout(codex.said("one"), codex.event("thread_rolled_back", num_turns=turns)), tmp_path
    )
    assert made[1].parent is None
    log = MemoryLog()
    session = bring(
        log, tmp_path, codex.rollout(codex.said("one"), codex.event("thread_rolled_back", num_turns=turns))
    )
    with log.snapshot() as snapshot:
        assert snapshot.head(session.id).leaf == 0


def test_titles_come_from_their_events(tmp_path: Path) -> None:
    made = made_of(codex.rollout(codex.event("thread_name_updated", thread_name="The parser")), tmp_path)
    title = node_of(made[-1]).title
    assert title is not None
    assert title.text == "The parser"


def test_agents_are_linked_in_either_order(tmp_path: Path) -> None:
    spawned = codex.output("k", json.dumps({"agent_id": CHILD}))
    parent = codex.rollout(codex.said("one"), {**codex.called("k", "spawn_agent"), "id": "call"}, spawned)
    source = {"subagent": {"thread_spawn": {"parent_thread_id": codex.THREAD}}}
    child = codex.meta(CHILD, source=source) + codex.line("response_item", codex.said("go"))
    files = [(parent, codex.name_of()), (child, codex.name_of(CHILD))]
    for order in (files, files[::-1]):
        log = MemoryLog()
        for content, name in order:
            bring(log, tmp_path, content, name)
        assert links(log, codex.THREAD) == {("child", CHILD, "call")}
        with log.snapshot() as snapshot:
            link = origin_of(snapshot, CHILD, "subagent")
        assert link is not None
        assert (link.session, link.event) == (codex.THREAD, "call")


@pytest.mark.parametrize("torn", ['{"agent_id": "x"}[]', '{"output":"torn', "{"])
def test_outputs_that_are_no_json_are_texts(tmp_path: Path, torn: str) -> None:
    log, spawn = MemoryLog(), codex.called("k", "spawn_agent")
    bring(log, tmp_path, codex.rollout(codex.said("one"), spawn, codex.output("k", torn)))
    results = [each for each in events(log, codex.THREAD) if each.role == "toolResult"]
    assert (links(log, codex.THREAD), len(results)) == (set(), 1)


def test_reviews_are_linked_to_their_thread(tmp_path: Path) -> None:
    log = MemoryLog()
    content = codex.meta(CHILD, source={"subagent": "review"}, parent_thread_id=codex.THREAD)
    bring(log, tmp_path, content, codex.name_of(CHILD))
    assert links(log, CHILD) == {("subagent", codex.THREAD, "")}


def test_forks_of_a_revert_name_its_rollout(tmp_path: Path) -> None:
    log = MemoryLog()
    base = {"thread_id": REVERTED, "end_ordinal_exclusive": 44, "end_byte_offset": 9}
    bring(
        log, tmp_path, codex.meta(CHILD, forked_from_id=codex.THREAD, history_base=base), codex.name_of(CHILD)
    )
    place = (REVERTED, f"43@{REVERTED}")
    assert links(log, CHILD) == {("parent", *place), ("fork", *place)}


def test_copies_are_forks_of_what_they_copy(tmp_path: Path) -> None:
    log, said = MemoryLog(), [codex.said("one"), codex.answered("1")]
    original = codex.rollout(*said, codex.said("two"))
    bring(log, tmp_path, original)
    copied = codex.rollout(*said).replace(b"2025-12-08", b"2025-12-09")
    content = (
        codex.meta(CHILD, forked_from_id=codex.THREAD) + copied + codex.line("response_item", codex.said("2"))
    )
    bring(log, tmp_path, content, codex.name_of(CHILD))
    with log.snapshot() as snapshot:
        link = origin_of(snapshot, CHILD, "fork")
        assert link is not None
        assert snapshot.locate(codex.THREAD, link.event) == 3
    assert link.session == codex.THREAD


def test_added_entries_are_events_for_the_screen(tmp_path: Path) -> None:
    log = MemoryLog()
    content = codex.rollout(codex.said("one"))
    session = bring(log, tmp_path, content).id
    assert b"".join(export_session(log, session, "codex")) == content


def test_both_folders_of_its_home_are_searched() -> None:
    found = [each.folder for each in session_places({"CODEX_HOME": "/x"}) if each.harness == "codex"]
    assert found == ["/x/sessions", "/x/archived_sessions"]


def test_a_full_temporary_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstd = pytest.importorskip("backports.zstd")
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no device that is always full")
    file = full.open("r+b", buffering=0)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: file)
    data = zstd.compress(codex.rollout(codex.said("one")) + b" " * (4 << 20))
    with pytest.raises(BadInputError, match="make room in the temporary folder"):
        bring(MemoryLog(), tmp_path, data, codex.name_of() + ".zst")
    assert file.closed


def test_a_compressed_file_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstd = pytest.importorskip("backports.zstd")
    monkeypatch.setattr("eventstore.harnesses.codex.rollout_file.LARGEST", 1 << 20)
    bomb = zstd.compress(codex.rollout(codex.said("one")) + b" " * (4 << 20))
    with pytest.raises(BadInputError, match="when it is decompressed"):
        bring(MemoryLog(), tmp_path, bomb, codex.name_of() + ".zst")
