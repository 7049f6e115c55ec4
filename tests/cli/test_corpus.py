"""Every command on real session files of pi."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invocations import NAMES, invocations, line_for
from tests.cli.running import Refold
from tests.support import reference_pi
from tests.support.validator import validate

FILES = [
    "pi-mono-before-compaction.v1.jsonl",
    "pi-mono-before-compaction.v3.jsonl",
    "pi-mono-large-session.v1.jsonl",
]


@pytest.fixture(scope="module", params=FILES)
def file(request: pytest.FixtureRequest, corpus: Path) -> Path:
    path = corpus / "pi" / request.param
    if not path.is_file():
        pytest.skip(f"the corpus has no {request.param}")
    return path


@pytest.fixture(scope="module")
def imported(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Refold:
    """The command with a store that holds one real session."""
    refold = Refold(tmp_path_factory.mktemp("corpus") / "store")
    refold("sync", file)
    return refold


@pytest.fixture(scope="module")
def context(imported: Refold) -> Any:
    return imported("context", "@last", "--json").json


WRITING = ("append", "go", "fork", "undo", "prune", "handoff", "maintain", "label")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WRITING])
def test_every_command_works(
    imported: Refold, file: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("session.jsonl").write_bytes(file.read_bytes())
    arguments = invocations("@last", file=str(file))[name]
    assert imported(*arguments).out
    if name != "backup":
        assert imported(*arguments, "--json").json_lines


def test_what_is_written_to_it_stays_in_the_copy_of_it(file: Path, tmp_path: Path) -> None:
    refold = Refold(tmp_path / "store")
    refold("sync", file)
    for name in ("append", "prune", "maintain", "label", "undo"):
        refold(*invocations("@last")[name], stdin=line_for(name))
    assert refold("sync", file, "--json").json["sessions"][0]["added"] == 0
    assert refold("verify", "--json").json["findings"] == []


@pytest.mark.parametrize("policy", ["pi", "oh-my-pi", "opencode", "layered"])
def test_a_policy_compacts_it_without_a_model_and_is_taken_back(
    file: Path, tmp_path: Path, policy: str
) -> None:
    refold = Refold(tmp_path / "store")
    before = refold("context", file, "--format", "pi").raw
    done = refold("compact", "@last", "--policy", policy, "--summarizer", "extractive", "--json").json
    assert done["outcome"] == "compacted"
    assert done["tokensAfter"] < done["tokensBefore"] / 4
    request = refold("context", "@last", "--format", "anthropic", "--json").json
    assert validate(request["body"]) == []
    refold("undo", "@last")
    assert refold("context", "@last", "--format", "pi").raw == before


def test_the_file_comes_back_byte_for_byte(imported: Refold, file: Path) -> None:
    assert imported("export", "@last", "-o", "-").raw == file.read_bytes()


def test_no_line_is_skipped(imported: Refold, file: Path) -> None:
    (session,) = imported("sync", file, "--json").json["sessions"]
    assert (session["added"], session["skipped"], session["differs_from_harness"]) == (0, [], [])


def test_the_context_is_what_pi_builds_of_the_exported_file(imported: Refold) -> None:
    exported = imported("export", "@last", "--format", "pi", "-o", "-").raw.splitlines()
    entries = [json.loads(line) for line in exported[1:]]
    assert imported("context", "@last", "--format", "pi").json == reference_pi.context(entries)


def test_the_audit_agrees_with_the_context(imported: Refold, context: Any) -> None:
    (session,) = imported("audit", "@last", "--json").json["sessions"]
    assert session["contextTokens"] == context["tokens"]


@pytest.mark.parametrize("columns", [80, 60])
def test_no_line_of_a_listing_is_wider_than_a_terminal(corpus: Path, tmp_path: Path, columns: int) -> None:
    imported = Refold(tmp_path / "store")
    imported("sync", corpus / "pi" / FILES[0], corpus / "pi" / FILES[1])
    sizes = {"COLUMNS": str(columns), "LINES": "40"}
    for name in ("sessions", "log", "tree", "audit", "audits", "diff"):
        arguments = ["audit", "--all"] if name == "audits" else invocations("@last")[name]
        printed = imported.on_terminal(*arguments, columns=columns, NO_COLOR="1", TERM="dumb", **sizes)
        # A word that is wider than the terminal, such as a path, stays whole on a line of its own, and so do commands.
        lines = [line for line in printed.splitlines() if len(line.split()) > 1 and "  refold " not in line]
        assert max(map(len, lines)) <= columns, name


@pytest.fixture(scope="module")
def compacted(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    refold = Refold(tmp_path_factory.mktemp("compacted") / "store")
    return refold("audit", corpus / "pi" / FILES[0], "--json").json["sessions"][0]


def test_the_first_compaction_claims_what_the_provider_measured(compacted: Any) -> None:
    first, _ = compacted["compactions"]
    assert first["before"]["claimed"] == first["before"]["measured"] == 175_004
    assert first["messages"] == {"summarized": 285, "kept": 66, "uncovered": 0}


def test_the_second_compaction_dropped_what_the_first_had_kept(compacted: Any) -> None:
    _, second = compacted["compactions"]
    assert second["messages"] == {"summarized": 182, "kept": 77, "uncovered": 66}


def test_a_reader_sees_at_a_glance_that_messages_were_dropped(corpus: Path, tmp_path: Path) -> None:
    audit = Refold(tmp_path / "store")("audit", corpus / "pi" / FILES[0]).lines
    assert [line for line in audit[:14] if line.startswith("! compaction 2: 66 messages (#")]


def test_the_two_files_of_one_session_become_two_generations(corpus: Path, tmp_path: Path) -> None:
    refold = Refold(tmp_path / "store")
    refold("sync", corpus / "pi" / FILES[0], corpus / "pi" / FILES[1])
    second, first = (each["id"] for each in refold("sessions", "--all", "--json").json["sessions"])
    assert second == f"{first}~2"
    assert refold("tree", first[:8], "--json").raw == refold("tree", second, "--json").raw
