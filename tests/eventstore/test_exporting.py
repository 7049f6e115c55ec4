"""Giving sessions back: their file as it came, or a file that pi opens."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eventstore import EventLog, open_store
from eventstore.errors import BadInputError, CorruptionError, NotFoundError
from eventstore.files.exporting import export_original, export_session
from eventstore.files.importing import import_file, import_sessions
from eventstore.frame import decode
from eventstore.harnesses.refold.events import compose
from eventstore.memory import MemoryLog
from eventstore.records import (
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Decision,
    Label,
    LeafMoved,
    Link,
    MessageRecord,
    ModelChange,
    Record,
    Rewrite,
    SessionInfo,
    TextReplacement,
    ThinkingLevelChange,
    Undone,
)
from tests.support import oh_my_pi_sessions
from tests.support.events import NOW, events
from tests.support.frames import encode
from tests.support.pi_files import SESSION, bring, entry, header, kept, original, said
from tests.support.tampering import event_key, tables

A, B, C = said("a", "a", None), said("b", "b", "a"), said("c", "c", "b")
SAID = MessageRecord(message=msgspec.Raw(b'{"role":"user","content":"hi"}'))
NATIVE: list[Record] = [
    SessionInfo(name="title", cwd="/home/project"),
    SAID,
    ModelChange(provider="p", model_id="m"),
    ThinkingLevelChange(thinking_level="low"),
    MessageRecord(message=msgspec.Raw(b'{"role":"assistant","content":[]}'), shape="pi", metadata={"k": 1}),
    Decision(outcome="skip", reason="small"),
    Compaction(summary="s", first_kept_entry_id="e1", tokens_before=5, from_extension=True),
    BranchSummary(from_id="e1", summary="left"),
    BranchSummary(from_id="", summary="left"),
    CustomMessage(custom_type="x", content="c"),
    Custom(custom_type="x", data={"a": 1}),
    Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="x")]),
    LeafMoved(from_id="e1"),
    Undone(target_id="e6"),
    Custom(custom_type="y"),
    Label(target_id="e1", label="here"),
]


@pytest.fixture
def native(log: EventLog) -> EventLog:
    log.append("s", [compose(record, id=f"e{at}", time=at * 1000) for at, record in enumerate(NATIVE)])
    return log


def pi_lines(log: EventLog, session: str = SESSION) -> list[dict[str, Any]]:
    text = b"".join(export_session(log, session, "pi")).decode()
    assert text.endswith("\n")
    return [json.loads(each) for each in text.splitlines()]


def tree(log: EventLog, session: str) -> list[tuple[str, str | None]]:
    return [(found.id, found.parent) for found in events(log, session) if found.is_entry]


class TestOriginal:
    @pytest.mark.parametrize(
        "content",
        [
            header(3),
            header(3).rstrip(),
            header(3) + A + B,
            header(3) + A + B.rstrip(),
            header(3) + A + B[:-9],
            b"\xef\xbb\xbf" + (header(2) + A + B).replace(b"\n", b"\r\n"),
            b"\n \n" + header(3) + b"\n\n\n" + A + b" \t" + B + b"\n\n",
            header(3) + b"  " + A.rstrip() + b"  " + B.rstrip() + b" ,\n",
            header(3) + b"broken\n\xff\xfe\n42\n" + A + header(3) + B,
            header(3) + A + A + A.replace(b'"a"', b'"z"'),
            header(1) + said("a") + said("b") + kept(1) + kept(2.5),
        ],
    )
    def test_a_file_comes_back_byte_for_byte(self, log: EventLog, tmp_path: Path, content: bytes) -> None:
        bring(log, tmp_path, content)
        assert original(log) == content

    def test_what_has_grown_in_the_store_is_not_in_the_file(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, header(3) + A)
        log.append(SESSION, [compose(Custom(custom_type="mine"), id="own", time=None)])
        assert original(log) == header(3) + A

    def test_a_session_that_was_written_here_has_no_file(self, log: EventLog) -> None:
        log.append("s", [compose(Custom(custom_type="mine"), id="own", time=None)])
        with pytest.raises(NotFoundError) as refused:
            list(export_original(log, "s"))
        assert "pi" in refused.value.remedy.split()

    @pytest.mark.parametrize(
        "export", [export_original, lambda log, session: export_session(log, session, "pi")]
    )
    def test_a_session_that_is_not_there_is_an_error(self, log: EventLog, export: Any) -> None:
        with pytest.raises(NotFoundError):
            list(export(log, "nobody"))

    def test_a_file_whose_records_were_changed_in_the_store_is_not_passed_off(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log:
            bring(log, tmp_path, header(3) + A + B)
        with tables(tmp_path / "store") as changing:
            changed = decode(changing.get("events", event_key(1, 1)), SESSION)
            changed = msgspec.structs.replace(changed, body=changed.body.replace(b'"a"', b'"z"'))
            changing.put("events", event_key(1, 1), encode(changed))
        with open_store(tmp_path / "store") as log, pytest.raises(CorruptionError):
            original(log)


class TestPi:
    def test_an_export_begins_with_a_header_of_the_newest_version(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, header(1, provider="p") + said("a"))
        expected = {**json.loads(header(1, provider="p")), "version": 3}
        assert pi_lines(log)[0] == expected

    def test_records_of_version_3_are_exported_as_they_are(self, log: EventLog, tmp_path: Path) -> None:
        lines = [A, B, entry("x", "b", "who:knows", deep={"1": 1.0}), C]
        bring(log, tmp_path, header(3) + b"\n".join(lines))
        assert pi_lines(log)[1:] == [json.loads(each) for each in lines]

    def test_records_of_version_1_get_ids_and_parents(self, log: EventLog, tmp_path: Path) -> None:
        bring(log, tmp_path, header(1) + said("a") + said("b") + kept(2) + said("c"))
        exported = pi_lines(log)[1:]
        assert [(each["id"], each["parentId"]) for each in exported] == tree(log, SESSION)
        assert exported[2]["firstKeptEntryId"] == exported[1]["id"]
        assert "firstKeptEntryIndex" not in exported[2]

    def test_a_compaction_of_version_1_that_keeps_nothing_names_nothing(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, header(1) + said("a") + kept(0))
        assert not {"firstKeptEntryIndex", "firstKeptEntryId"} & set(pi_lines(log)[2])

    @pytest.mark.parametrize("version", [1, 2])
    def test_hook_messages_become_custom_ones(self, log: EventLog, tmp_path: Path, version: int) -> None:
        bring(log, tmp_path, header(version) + said("x", "a", None, role="hookMessage"))
        assert pi_lines(log)[1]["message"] == {"role": "custom", "content": "x", "timestamp": 1}

    def test_orphans_and_taken_ids_are_exported_as_they_stand_in_the_tree(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, header(3) + A + said("again", "a", "a") + said("lost", "x", "nowhere"))
        assert [(each["id"], each["parentId"]) for each in pi_lines(log)[1:]] == [
            ("a", None),
            ("a~3", None),
            ("x", None),
        ]

    @pytest.mark.slow
    def test_an_export_of_an_import_is_importable_with_the_same_tree(
        self, log: EventLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, header(1) + said("a") + said("b", role="hookMessage") + kept(1) + said("c"))
        with open_store(tmp_path / "other") as other:
            bring(other, tmp_path, b"".join(export_session(log, SESSION, "pi")))
            assert tree(other, SESSION) == tree(log, SESSION)
            assert [found.target_seq for found in events(other, SESSION)[:4]] == [0, 0, 1, 0]
            assert list(export_session(other, SESSION, "pi")) == list(export_session(log, SESSION, "pi"))


class TestWhatRefoldWrote:
    def exported(self, log: EventLog) -> dict[str, dict[str, Any]]:
        return {each["id"]: each for each in pi_lines(log, "s")[1:]}

    def test_the_header_is_made_of_what_is_known(self, native: EventLog) -> None:
        assert pi_lines(native, "s")[0] == {
            "type": "session",
            "version": 3,
            "id": "s",
            "timestamp": "1970-01-01T00:00:00.000Z",
            "cwd": "/home/project",
        }

    def test_every_entry_is_exported_in_its_order(self, native: EventLog) -> None:
        entries = [f"e{at}" for at, record in enumerate(NATIVE) if not isinstance(record, Decision)]
        assert list(self.exported(native)) == entries

    def test_entries_are_stamped_with_id_parent_and_time(self, native: EventLog) -> None:
        first = self.exported(native)["e1"]
        assert (first["id"], first["parentId"], first["timestamp"]) == (
            "e1",
            "e0",
            "1970-01-01T00:00:01.000Z",
        )

    def test_an_entry_whose_time_nobody_knows_gets_that_of_its_recording(self, log: EventLog) -> None:
        log.append("s", [compose(SAID, id="a", time=None)])
        assert NOW == 1_700_000_000_000
        assert self.exported(log)["a"]["timestamp"] == "2023-11-14T22:13:20.000Z"

    @pytest.mark.parametrize("kind", ["rewrite", "leaf_moved", "undone"])
    def test_kinds_that_pi_does_not_have_become_custom_entries(self, native: EventLog, kind: str) -> None:
        found = [
            each for each in self.exported(native).values() if each.get("customType") == f"refold.{kind}"
        ]
        assert [each["type"] for each in found] == ["custom"]

    def test_a_custom_entry_holds_the_record(self, native: EventLog) -> None:
        assert self.exported(native)["e11"]["data"] == {
            "reason": "prune",
            "targets": [{"target": "e1", "shown": "x"}],
        }

    def test_kinds_that_pi_has_are_as_pi_writes_them(self, native: EventLog) -> None:
        exported = self.exported(native)
        assert exported["e1"]["message"] == {"role": "user", "content": "hi"}
        assert (exported["e6"]["firstKeptEntryId"], exported["e6"]["fromHook"]) == ("e1", True)
        assert "fromExtension" not in exported["e6"]
        assert (exported["e7"]["fromId"], exported["e8"]["fromId"]) == ("e1", "root")
        assert exported["e9"]["display"] is True
        assert exported["e15"]["label"] == "here"

    def test_the_newest_entry_stays_the_newest(self, native: EventLog) -> None:
        assert list(self.exported(native))[-1] == "e15"

    def test_an_export_is_importable_with_the_same_tree(self, native: EventLog, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"".join(export_session(native, "s", "pi")))
        with open_store(tmp_path / "other") as other:
            found = import_file(other, tmp_path / "file")
            assert (found.id, found.skipped, found.differs_from_harness) == ("s", [], [])
            assert tree(other, "s") == tree(native, "s")
            assert [found.time for found in events(other, "s")[:3]] == [0, 1000, 2000]

    def test_an_export_that_comes_back_adds_nothing(self, native: EventLog, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"".join(export_session(native, "s", "pi")))
        found = import_file(native, tmp_path / "file")
        assert (found.id, found.added, found.rewritten) == ("s", 0, 0)
        assert original(native, "s") == (tmp_path / "file").read_bytes()

    def test_an_export_that_pi_has_continued_adds_what_is_new(self, native: EventLog, tmp_path: Path) -> None:
        exported = b"".join(export_session(native, "s", "pi"))
        (tmp_path / "file").write_bytes(exported + said("more", "more", "e15"))
        assert import_file(native, tmp_path / "file").added == 1
        assert tree(native, "s")[-1] == ("more", "e15")

    @pytest.mark.slow
    def test_fields_keep_their_order_and_numbers_their_digits(self, log: EventLog, tmp_path: Path) -> None:
        strange = b'{"type":"custom","id":"a","parentId":null,"2":0.000009,"1":[1.0,1e+21,9E-7]}\n'
        bring(log, tmp_path, header(3) + strange)
        assert list(export_session(log, SESSION, "pi"))[1] == strange

    def test_half_a_surrogate_pair_is_escaped(self, log: EventLog, tmp_path: Path) -> None:
        strange = b'{"type":"custom","id":"a","parentId":null,"b":"\\ud800","c":1.5}\n'
        bring(log, tmp_path, header(3) + strange)
        assert list(export_session(log, SESSION, "pi"))[1] == strange


def forked(log: EventLog, session: str) -> dict[str, Any]:
    """The header of the pi file of a session that says that it was forked from another."""
    link = compose(Link(relation="fork", session=session, event="a"), id="link", time=5)
    log.append("fork", [link, compose(SAID, id="a", time=5)])
    header: dict[str, Any] = json.loads(next(export_session(log, "fork", "pi")))
    return header


def test_a_fork_names_its_parents_file_and_has_its_folder(log: EventLog, tmp_path: Path) -> None:
    imported = bring(log, tmp_path, header() + A)
    found = forked(log, imported.id)
    assert (found["id"], found["parentSession"], found["cwd"]) == (
        "fork",
        str(tmp_path / "session.jsonl"),
        "/home/user/project",
    )


def test_a_fork_of_a_session_that_was_written_here_names_it(log: EventLog) -> None:
    log.append("s", [compose(SessionInfo(cwd="/home/project"), id="i", time=5)])
    found = forked(log, "s")
    assert (found["parentSession"], found["cwd"]) == ("s", "/home/project")


def test_a_fork_of_a_session_that_is_not_in_the_store_names_it(log: EventLog) -> None:
    assert forked(log, "gone")["parentSession"] == "gone"


def test_what_is_no_fork_names_no_parent(log: EventLog) -> None:
    log.append("s", [compose(SAID, id="a", time=5)])
    assert "parentSession" not in json.loads(next(export_session(log, "s", "pi")))


def test_an_unknown_format_is_refused(native: EventLog) -> None:
    with pytest.raises(BadInputError) as refused:
        list(export_session(native, "s", "nobody's"))
    assert "pi" in refused.value.remedy


@pytest.mark.parametrize("seed", range(5))
def test_an_export_for_another_harness_does_not_take_the_place_of_the_original(
    tmp_path: Path, seed: int
) -> None:
    entries = oh_my_pi_sessions.entries_of(random.Random(seed), 12)
    original = oh_my_pi_sessions.file_of(entries, title="A title")
    log, path, exported = MemoryLog(), tmp_path / "s.jsonl", tmp_path / "export.jsonl"
    path.write_bytes(original)
    session = import_sessions(log, path)[0].id
    exported.write_bytes(b"".join(export_session(log, session, "pi")))
    for _ in range(2):
        (again,) = import_sessions(log, exported)
        assert (again.id, again.earlier, again.added, again.rewritten) == (session, None, 0, 0)
        assert b"".join(export_original(log, session)) == original
    path.write_bytes(original)
    assert not any(each.added or each.rewritten for each in import_sessions(log, path))


@pytest.mark.parametrize("harness", ["pi", "oh-my-pi"])
@pytest.mark.parametrize("seed", [57, 149])
def test_an_export_whose_records_are_all_equal_does_not_take_the_place_of_the_original(
    tmp_path: Path, harness: str, seed: int
) -> None:
    rng = random.Random(seed)
    entries = oh_my_pi_sessions.entries_of(rng, rng.randint(2, 40))
    log, path, exported = MemoryLog(), tmp_path / "s.jsonl", tmp_path / "export.jsonl"
    path.write_bytes(oh_my_pi_sessions.file_of(entries, title=rng.choice(["A title", ""])))
    session = import_sessions(log, path)[0].id
    exported.write_bytes(b"".join(export_session(log, session, harness)))
    assert import_sessions(log, exported)[0].id == session
    assert b"".join(export_original(log, session)) == path.read_bytes()
