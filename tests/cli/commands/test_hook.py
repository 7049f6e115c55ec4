from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import lmdb
import pytest

from cli.commands import hook
from eventstore import open_store
from eventstore.memory import MemoryLog
from tests.cli.running import PROJECT, Refold
from tests.support.opencode import SESSION as OPENCODE_SESSION
from tests.support.opencode import Database
from tests.support.pi_files import entry, header, said
from tests.support.talk import PiSession, assistant, user

SAID = ("Never touch db/frozen.", "My key is sk-ant-api03-" + "a1B2c3D4" * 11 + "-AAAAAAAA.", "Go on.")
SESSION = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def transcript() -> Path:
    """The file of a session in which a person says three things."""
    lines, above = [], None
    for number, text in enumerate(SAID):
        for kind, content in (("user", text), ("assistant", [{"type": "text", "text": "Understood."}])):
            each = f"{number}-{kind}"
            message: dict[str, Any] = {"role": kind, "content": content}
            if kind == "assistant":
                message |= {"id": f"m{number}", "type": "message", "model": "claude-sonnet-4-5"}
            record = {"type": kind, "uuid": each, "parentUuid": above, "message": message}
            record |= {"sessionId": SESSION, "timestamp": f"2026-11-01T10:0{number}:00.000Z", "cwd": "/p"}
            lines.append(
                json.dumps({**record, "version": "2.1.331", "isSidechain": False, "userType": "external"})
            )
            above = each
    path = Path(f"{SESSION}.jsonl").resolve()
    path.write_text("\n".join(lines) + "\n")
    return path


def event(transcript: Path, name: str, **more: Any) -> str:
    return json.dumps({"hook_event_name": name, "transcript_path": str(transcript), **more})


def answer(refold: Refold, given: str, *options: str) -> str:
    return refold("hook", "claude-code", *options, stdin=given).out


def log_of(refold: Refold) -> str:
    log = Path(f"{refold.store}.hook.log")
    return log.read_text() if log.exists() else ""


def test_the_end_of_a_session_imports_it(refold: Refold, transcript: Path) -> None:
    assert not answer(refold, event(transcript, "SessionEnd"))
    assert SESSION in refold("sessions", "--json").out


def test_a_file_that_grew_is_read_on(refold: Refold, transcript: Path) -> None:
    whole = transcript.read_text()
    transcript.write_text("".join(whole.splitlines(keepends=True)[:-2]))
    for text, words in ((None, SAID[1][:6]), (None, SAID[1][:6]), (whole, SAID[2])):
        transcript.write_text(text or transcript.read_text())
        assert words in answer(refold, event(transcript, "PreCompact"))


def test_a_summarizer_is_told_the_persons_words(refold: Refold, transcript: Path) -> None:
    told = answer(refold, event(transcript, "PreCompact"))
    assert f"#1 {SAID[0]}" in told
    assert "sk-ant-api03" not in told


def test_a_compacted_session_gets_words_back(refold: Refold, transcript: Path) -> None:
    given = json.loads(answer(refold, event(transcript, "SessionStart", source="compact")))
    text = given["hookSpecificOutput"]["additionalContext"]
    assert text.count(SAID[0]) == 1
    assert len(text) <= 9_800
    notes = [json.loads(line) for line in refold("log", SESSION, "--json").out.splitlines()]
    assert "given-back" in refold("show", SESSION, f"#{len(notes)}").out


def test_what_a_summary_has_goes_not_back(refold: Refold, transcript: Path) -> None:
    told = answer(refold, "", "--event", event(transcript, "Compacted", summary=f"Kept: {SAID[0]}"))
    assert SAID[0] not in told
    assert SAID[2] in told


def given_back(refold: Refold) -> Any:
    """Return the audit's JSON of a session that got words back at its first compaction of two."""
    story = PiSession()
    story.says("u1", user(SAID[0]))
    story.says("a1", assistant("Understood."))
    story.compacts("c1", "", summary="Nothing.")
    story.says("u2", user("Go on."))
    path = Path("session.jsonl").resolve()
    story.store_in(MemoryLog(), path.parent)
    assert SAID[0] in refold("hook", "pi", stdin=event(path, "Compacted")).out
    story.compacts("c2", "", summary="Nothing again.")
    story.store_in(MemoryLog(), path.parent)
    return refold("audit", str(path), "--json").json


def test_a_recorded_compaction_gets_its_words_back(refold: Refold) -> None:
    (given,) = given_back(refold)["sessions"][0]["givenBack"]
    assert given["boundary"] == "c1"
    assert [each["boundary"] for each in given["quotations"][0]["fates"]] == ["c2"]


@pytest.mark.parametrize(
    "more", [{"source": "startup"}, {"source": "compact", "agent_id": "a"}], ids=["a start", "an agent"]
)
def test_other_events_get_no_answer(refold: Refold, transcript: Path, more: dict[str, str]) -> None:
    assert not answer(refold, event(transcript, "SessionStart", **more))
    assert not log_of(refold)


@pytest.mark.parametrize("given", ["", "[]", "{", '{"hook_event_name": "PreCompact"}'])
def test_bad_events_cost_a_line(refold: Refold, given: str) -> None:
    assert not answer(refold, given)
    assert len(log_of(refold).splitlines()) == 1


def test_only_its_owner_reads_the_log(refold: Refold) -> None:
    answer(refold, "{")
    assert Path(f"{refold.store}.hook.log").stat().st_mode & 0o777 == 0o600


def test_a_missing_transcript_costs_a_line(refold: Refold) -> None:
    assert not answer(refold, event(Path("nowhere.jsonl"), "PreCompact"))
    assert "does not exist" in log_of(refold)


def test_a_childs_environment_is_left_alone(
    refold: Refold, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFOLD_ASKS", "refold-ask-12345678")
    assert not answer(refold, event(transcript, "PreCompact"))
    assert not refold.store.exists()


def test_only_who_wants_it_has_windows_read(
    refold: Refold, transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFOLD_SUMMARIZER_COMMAND", f"tee {tmp_path}/asked")
    answer(refold, event(transcript, "PreCompact"))
    monkeypatch.setenv("REFOLD_HOOK_READS", "1")
    assert not (tmp_path / "asked").exists()
    answer(refold, event(transcript, "PreCompact"))
    end = time.monotonic() + 60
    while SAID[0] not in (asked.read_text() if (asked := tmp_path / "asked").exists() else ""):
        assert time.monotonic() < end, log_of(refold)
        time.sleep(0.1)


def test_a_locked_store_is_not_waited_for(refold: Refold, transcript: Path) -> None:
    answer(refold, event(transcript, "SessionEnd"))
    transcript.write_text(transcript.read_text().replace("Go on.", "Go on now."))
    command = [sys.executable, "-m", "refold", "--store", str(refold.store), "hook", "claude-code"]
    with lmdb.open(str(refold.store), max_dbs=64).begin(write=True):
        began = time.monotonic()
        ran = subprocess.run(
            [*command, "--timeout", "1.5"],
            input=event(transcript, "PreCompact").encode(),
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            check=True,
        )
    assert time.monotonic() - began < 30
    assert not ran.stdout
    assert "gave up" in log_of(refold)
    with open_store(str(refold.store)) as log, log.snapshot() as snapshot:
        assert snapshot.head(SESSION).version


def test_what_would_go_back_is_explained(refold: Refold) -> None:
    refold("--store", "demo", "demo")
    found = refold("--store", "demo", "hook", "--explain", "@last", "--json").json["boundaries"]
    assert len(found) == 3
    assert all(len(each["given"]["text"]) <= 4_000 for each in found)
    assert found[-1]["given"]["rules"]
    assert found[0]["given"]["inSummary"]


@pytest.fixture
def pi_file() -> Path:
    """A session of pi with a compaction, whose summary has the first message, and which keeps the third."""
    compaction = {"summary": f"Kept: {SAID[0]}", "firstKeptEntryId": "c", "tokensBefore": 9}
    lines = [said(SAID[0], "a", None), said("Be brief.", "b", "a"), said(SAID[2], "c", "b")]
    path = Path("pi.jsonl").resolve()
    path.write_bytes(b"".join([header(), *lines, entry("d", "c", "compaction", **compaction)]))
    return path


def test_what_a_new_context_shows_goes_not_back(refold: Refold, pi_file: Path) -> None:
    given = refold("hook", "pi", stdin=event(pi_file, "Compacted")).out
    assert given.count("Be brief.") == 1
    assert SAID[0] not in given
    assert SAID[2] not in given
    explained = refold("hook", "--explain", "@last", "--json").json["boundaries"]
    assert [each["given"]["text"] for each in explained] == [given.strip()]


def test_codex_gets_words_as_context(refold: Refold, pi_file: Path) -> None:
    given = refold("hook", "codex", stdin=event(pi_file, "SessionStart", source="compact")).json
    assert "Be brief." in given["hookSpecificOutput"]["additionalContext"]


def test_codex_is_told_nothing_before(refold: Refold, pi_file: Path) -> None:
    assert not refold("hook", "codex", stdin=event(pi_file, "PreCompact")).out
    assert "Be brief." in refold("log", "@last").out


def test_a_file_without_a_compaction_costs_a_line(refold: Refold, transcript: Path) -> None:
    assert not refold("hook", "pi", stdin=event(transcript, "Compacted")).out
    assert "compaction" in log_of(refold)


def test_a_policy_makes_a_compaction_unstored(refold: Refold, tmp_path: Path) -> None:
    policy = tmp_path / "short.toml"
    policy.write_text(
        'name = "short"\ncut = {part = "keep-recent", tokens = 20}\nprompting = {summarizer = "extractive"}\n'
    )
    file = Path("pi.jsonl").resolve()
    texts = [f"{SAID[0]} {number} {'word ' * 300}" for number in range(4)]
    lines = [said(text, f"{n}", f"{n - 1}" if n else None) for n, text in enumerate(texts)]
    file.write_bytes(b"".join([header(), *lines]))
    asked = event(file, "Compact", policy=str(policy), window=1000)
    made = json.loads(refold("hook", "pi", stdin=asked).out)
    assert made["firstKeptEntryId"] == "3"
    assert SAID[0] in made["summary"]
    assert "compaction" not in refold("log", "@last", "--json").out


@pytest.mark.parametrize("words", [[], ["claude-code", "--explain", "@last"], ["claude-code", "--json"]])
def test_one_thing_is_asked_for(refold: Refold, words: list[str]) -> None:
    refold("hook", *words, code=2)


def test_a_sessions_words_go_to_no_other(refold: Refold, tmp_path: Path) -> None:
    database = Database(tmp_path)
    database.begin()
    database.ask("msg_1", SAID[0])
    told = {
        name: refold("hook", "opencode", stdin=event(database.path, "PreCompact", session_id=name)).out
        for name in (OPENCODE_SESSION, "ses_missing")
    }
    assert SAID[0] in told[OPENCODE_SESSION]
    assert not told["ses_missing"]
    assert "ses_missing" in log_of(refold)


def test_the_end_of_a_session_has_nothing_read(
    refold: Refold, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFOLD_HOOK_READS", "1")
    monkeypatch.setattr(hook, "_read_in_background", lambda *_: pytest.fail("it reads"))
    answer(refold, event(transcript, "SessionEnd"))
    assert not log_of(refold)


def test_a_note_keeps_nothing_unmasked(refold: Refold, transcript: Path) -> None:
    given = event(transcript, "Compacted", summary=SAID[1])
    assert answer(refold, given)
    note = refold("log", SESSION, "--json").out.splitlines()[-1]
    number = json.loads(note)["seq"]
    assert "sk-ant-api03" not in refold("show", SESSION, f"#{number}").out
