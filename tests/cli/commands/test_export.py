from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import click
import pytest

from cli.commands.export import command
from eventstore.errors import BadInputError, CorruptionError, NotFoundError
from eventstore.files.exporting import export_formats
from tests.cli.running import Refold
from tests.cli.tale import SESSION, tale
from tests.support import claude_code, codex, opencode, reference_pi
from tests.support.patience import PATIENCE
from tests.support.pi_files import header, line, said
from tests.support.tampering import tables


def test_the_original_is_the_file_byte_for_byte(told: Refold, tmp_path: Path) -> None:
    told("export", SESSION, "-o", "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == tale()


def test_the_original_of_a_damaged_file_is_that_file(refold: Refold, tmp_path: Path) -> None:
    damaged = (
        b"\xef\xbb\xbf" + header() + b"\r\n{broken\n" + said("a", "e1", None) + said("b", "e2", "e1")[:-9]
    )
    (tmp_path / "damaged.jsonl").write_bytes(damaged)
    assert refold("export", "damaged.jsonl", "-o", "-").raw == damaged


def test_the_original_is_as_it_was_at_the_newest_import(told: Refold, tmp_path: Path) -> None:
    told("label", SESSION, "--title", "Another title")
    grown = tale() + said("one more", "u9", "i1")
    (tmp_path / "tale.jsonl").write_bytes(grown)
    told("sync", "tale.jsonl")
    assert told("export", SESSION, "-o", "-").raw == grown


def test_a_session_that_was_never_a_file_has_no_original(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "custom", "customType": "x"}))
    assert refold.refused(NotFoundError, "export", "s", "-o", "-").name == "s"


def foreign(tmp_path: Path) -> Path:
    """Write a session of Claude Code with an unsealed thought and a call."""
    lines = [
        claude_code.said("a", None, "go " * 500),
        claude_code.answer("b", "a", "m", {"type": "thinking", "thinking": "Hm.", "signature": ""}),
        claude_code.answer("c", "b", "m", claude_code.call("t1", file_path="a.py")),
        claude_code.result("d", "c", "t1", "def a(): pass"),
        claude_code.answer("e", "d", "n", "Done."),
    ]
    file = tmp_path / "s.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    return file


def test_nothing_is_written_before_you_agree(refold: Refold, tmp_path: Path) -> None:
    refused = refold("export", foreign(tmp_path), "--format", "pi", "-o", "as-pi.jsonl", code=2)
    assert "thoughts without a provider's seal 1" in refused.notes[0]
    assert "--yes" in refused.errors
    assert not (tmp_path / "as-pi.jsonl").exists()


def test_a_file_of_another_harness_has_the_context(refold: Refold, tmp_path: Path) -> None:
    found = refold("export", foreign(tmp_path), "--format", "pi", "-o", "as-pi.jsonl", "--yes", "--json")
    assert found.json["lost"] == [{"what": "thoughts without a provider's seal", "count": 1}]
    messages = refold("context", "as-pi.jsonl", "--format", "pi").json["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "toolResult", "assistant"]
    assert messages[2]["toolName"] == "Read"
    assert messages[3]["model"] == "claude-opus-4-8"


def test_a_sealed_summary_says_what_it_replaced(refold: Refold, tmp_path: Path) -> None:
    sealed = codex.item("compaction", encrypted_content="x" * 400)
    words = "Never push to main. " * 400
    file = tmp_path / codex.name_of()
    file.write_bytes(codex.rollout(codex.said(words), codex.compacted("", sealed), codex.said("Go on.")))
    asked = refold("export", file, "--format", "pi", "-o", "as-pi.jsonl", code=2)
    assert "2,002 tokens (utf16/4), where the harness sends 2;" in asked.notes[0]
    refold("sync", file, "--as", "s")
    refold("compact", "s", "--summarizer", "extractive", "--keep-recent", "1")
    assert "provider" not in refold("export", "s", "--format", "pi", "-o", "smaller.jsonl", "--yes").errors
    assert (tmp_path / "smaller.jsonl").stat().st_size < len(words)


@pytest.mark.parametrize("form", ["pi", "oh-my-pi", "claude-code", "codex"])
def test_a_compaction_is_resumed_with_its_summary(refold: Refold, tmp_path: Path, form: str) -> None:
    refold("sync", foreign(tmp_path))
    refold("compact", "@last", "--summarizer", "extractive", "--keep-recent", "1")
    found = refold("export", "@last", "--format", form, "-o", "again.jsonl", "--yes", "--json")
    assert {"what": "message records that compactions replaced", "count": 4} in found.json["lost"]
    before, after = (
        refold("context", session, "--format", "anthropic").json["messages"]
        for session in (claude_code.SESSION, "again.jsonl")
    )
    assert before[1:] == after[1:]
    assert "<summary>" in json.dumps(after[0])


@pytest.mark.parametrize("form", ["pi", "oh-my-pi", "claude-code", "codex", "opencode"])
def test_a_moved_leaf_is_where_the_file_ends(refold: Refold, tmp_path: Path, form: str) -> None:
    refold("sync", foreign(tmp_path))
    refold("go", "@last", "d")
    refold("export", "@last", "--format", form, "-o", "again.jsonl", "--yes")
    messages = refold("context", "again.jsonl", "--json").json["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "toolResult"]


def test_a_compaction_is_one_of_opencode(refold: Refold, tmp_path: Path) -> None:
    refold("sync", foreign(tmp_path))
    refold("compact", "@last", "--summarizer", "extractive", "--keep-recent", "1")
    refold("export", "@last", "--format", "opencode", "-o", "again.json", "--yes")
    question, summary, *_ = refold("context", "again.json", "--format", "anthropic").json["messages"]
    assert "What did we do so far?" in json.dumps(question)
    assert summary["role"] == "assistant"
    assert "go go" in json.dumps(summary)


@pytest.mark.parametrize("form", ["codex", "opencode"])
def test_a_fork_is_a_session_of_its_own(refold: Refold, tmp_path: Path, form: str) -> None:
    log = [codex.said("one"), codex.answered("two")]
    messages = [opencode.said({"id": "msg_1", "time": {"created": 1}}, "one", "m")]
    data = codex.rollout(*log) if form == "codex" else opencode.exported(messages, "Title")
    (tmp_path / codex.name_of()).write_bytes(data)
    refold("sync", codex.name_of())
    refold("fork", "@last", "--as", "other")
    refold("export", "other", "--format", form, "-o", "other.jsonl", "--yes")
    (session,) = refold("sync", "other.jsonl", "--json").json["sessions"]
    assert session["id"] not in ("other", codex.THREAD, opencode.SESSION)
    assert '"one"' in refold("context", session["id"], "--format", "native").out


def test_an_export_is_the_same_each_time(refold: Refold, tmp_path: Path) -> None:
    options = ["--format", "pi", "-o", "-", "--yes"]
    assert len({refold("export", foreign(tmp_path), *options).raw for _ in range(2)}) == 1


def test_a_title_leaves_a_file_complete(refold: Refold, tmp_path: Path) -> None:
    refold("sync", foreign(tmp_path))
    refold("label", claude_code.SESSION, "--title", "Mine")
    found = refold("export", "@last", "--format", "claude-code", "-o", "own.jsonl", "--json")
    assert found.json["lost"] == []
    assert (tmp_path / "own.jsonl").read_bytes().startswith((tmp_path / "s.jsonl").read_bytes())


def test_a_pi_file_holds_what_has_come_since(told: Refold) -> None:
    told("append", SESSION, stdin=said("since then", role="user"))
    told("label", SESSION, "u3", "here")
    exported = [
        json.loads(each) for each in told("export", SESSION, "--format", "pi", "-o", "-").raw.splitlines()
    ]
    assert exported[0]["type"] == "session"
    assert exported[0]["version"] == 3
    expected = told("context", SESSION, "--format", "pi").json
    assert reference_pi.context(exported[1:]) == expected
    assert reference_pi.labels(exported[1:]) == {"u2": "halfway", "u3": "here"}


def test_a_pi_file_of_a_session_written_here_is_one_that_an_import_reads(refold: Refold) -> None:
    refold("append", "s", stdin=said("hello") + line({"type": "leaf_moved", "id": "m1", "parentId": None}))
    refold("export", "s", "--format", "pi", "-o", "s.jsonl")
    other = Refold(refold.store.with_name("other"))
    assert other("sync", "s.jsonl", "--json").json["sessions"][0]["skipped"] == []
    assert other("tree", "s", "--json").json["leaf"] == "m1"


def test_json_tells_what_was_written(told: Refold) -> None:
    found = told("export", SESSION, "-o", "again.jsonl", "--json").json
    assert found == {
        "session": SESSION,
        "format": "original",
        "file": "again.jsonl",
        "bytes": len(tale()),
        "lost": [],
    }


def test_on_standard_output_there_is_nothing_but_the_file(told: Refold) -> None:
    assert told("export", SESSION, "-o", "-", "--json").raw == tale()


def test_a_file_that_is_there_is_replaced_by_force(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "again.jsonl").write_text("what was there before, and longer than nothing")
    told("export", SESSION, "--force", "-o", "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == tale()


@pytest.mark.parametrize("form", ["original", "pi"])
@pytest.mark.parametrize("name", ["again.jsonl", "link.jsonl"])
def test_a_file_that_is_there_is_left_as_it_is(told: Refold, tmp_path: Path, form: str, name: str) -> None:
    (tmp_path / "again.jsonl").write_text("what was there before")
    (tmp_path / "link.jsonl").symlink_to("again.jsonl")
    refused = told.refused(BadInputError, "export", SESSION, "--format", form, "-o", name)
    assert (refused.source, (tmp_path / "again.jsonl").read_text()) == (name, "what was there before")


def test_a_file_with_nothing_in_it_is_filled(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "again.jsonl").touch()
    told("export", SESSION, "-o", "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == tale()


@pytest.mark.parametrize("mask", [0, 0o077])
def test_a_new_file_is_its_owners_alone(told: Refold, tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        told("export", SESSION, "-o", "again.jsonl")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "again.jsonl").stat().st_mode) == 0o600


def test_a_file_that_is_replaced_keeps_its_permissions(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "shared.jsonl").touch()
    (tmp_path / "shared.jsonl").chmod(0o640)
    told("export", SESSION, "-o", "shared.jsonl")
    assert stat.S_IMODE((tmp_path / "shared.jsonl").stat().st_mode) == 0o640


def test_a_link_stays_a_link_and_what_it_leads_to_is_replaced(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").touch()
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    told("export", SESSION, "-o", "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real.jsonl").read_bytes() == tale()


def test_a_pipe_is_written_to_and_stays_a_pipe(told: Refold, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        told("export", SESSION, "-o", "pipe")
        read, _ = reader.communicate(timeout=PATIENCE)
    assert read == tale()
    assert (tmp_path / "pipe").is_fifo()


def test_a_place_that_cannot_be_written_is_reported_and_nothing_is_left_behind(
    told: Refold, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    for place in ("gone/again.jsonl", ".", "store"):
        assert told.refused(BadInputError, "export", SESSION, "-o", place).source == place
        assert sorted(tmp_path.rglob("*")) == before


def test_an_export_that_fails_midway_leaves_the_old_file_and_nothing_else(
    told: Refold, tmp_path: Path
) -> None:
    (tmp_path / "again.jsonl").write_text("old")
    with tables(told.store) as stored:
        for key, value in stored.items("events"):
            if b"You are welcome." in value:
                stored.put("events", key, value.replace(b"You are welcome.", b"You are tampered"))
    before = sorted(tmp_path.rglob("*"))
    assert told.refused(CorruptionError, "export", SESSION, "--force", "-o", "again.jsonl").session == SESSION
    assert (tmp_path / "again.jsonl").read_text() == "old"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_session_that_is_not_there_leaves_no_file(told: Refold, tmp_path: Path) -> None:
    told.refused(NotFoundError, "export", "nope", "-o", "again.jsonl")
    assert not (tmp_path / "again.jsonl").exists()


def test_every_format_that_a_harness_is_exported_in_can_be_named() -> None:
    option = next(each for each in command.params if each.name == "form")
    assert isinstance(option, click.Option)
    names = [item.value for item in option.shell_complete(click.Context(command), "")]
    assert names == ["original", *export_formats(), "markdown"]


def test_a_leaf_chooses_a_branch_of_a_document_only(told: Refold) -> None:
    found = told("export", SESSION, "--format", "markdown", "--leaf", "#10", "-o", "-").out
    assert "Try a regular expression." in found
    assert "Thanks!" not in found
    assert (
        "--leaf needs --format markdown" in told("export", SESSION, "--leaf", "b2", "-o", "-", code=2).errors
    )


@pytest.mark.parametrize("form", ["original", "pi", "markdown"])
def test_a_file_is_exported_without_what_only_the_store_has(
    refold: Refold, tmp_path: Path, form: str
) -> None:
    (tmp_path / "now.jsonl").write_bytes(header() + said("shared", "e1", None) + said("private", "e2", "e1"))
    refold("sync", "now.jsonl")
    (tmp_path / "then.jsonl").write_bytes(header() + said("shared", "e1", None))
    exported = refold("export", "then.jsonl", "--format", form, "-o", "-").raw
    assert (b"shared" in exported, b"private" in exported) == (True, False)


def test_a_long_name_is_one_of_no_session(told: Refold) -> None:
    assert told.refused(NotFoundError, "export", "x" * 5000, "-o", "-").what == "session"
