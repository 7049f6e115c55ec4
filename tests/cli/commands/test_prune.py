from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.long_talk import SESSION, long_talk
from tests.cli.running import Refold
from tests.support.talk import PiSession, assistant, call, result, user

MASK = 'name = "all"\nrewrites = [{part = "mask", keep_observations = 0}]\n'


@pytest.fixture
def masked(talked: Refold, tmp_path: Path) -> Refold:
    """The command in a folder with a policy that masks every result."""
    (tmp_path / "all.toml").write_text(MASK)
    return talked


def shown(refold: Refold, event: str) -> Any:
    messages = refold("context", SESSION, "--json").json["messages"]
    return next(part for part in messages if part["event"] == event)


def events(refold: Refold) -> int:
    count: int = refold("sessions", "--json").json["sessions"][0]["events"]
    return count


def test_people_are_told_what_is_saved_and_how_it_is_taken_back(masked: Refold) -> None:
    rewritten, way_back = masked("prune", SESSION, "--policy", "all.toml").lines
    assert [each in rewritten for each in ("mask: ", " 1 message,", " 90 ", " utf16/4")] == [True] * 4
    masked(*way_back.partition(": refold ")[2].split())
    assert shown(masked, "r1")["fate"] == "kept"


def test_json_tells_of_each_rewrite(masked: Refold) -> None:
    done = masked("prune", SESSION, "--policy", "all.toml", "--json").json
    (event,) = done.pop("events")
    assert masked("show", SESSION, event, "--json").json["kind"] == "rewrite"
    assert done == {
        "session": SESSION,
        "counter": "utf16/4",
        "estimate": True,
        "rewrites": [{"reason": "mask", "targets": ["r1"], "tokensSaved": 90}],
    }


def test_a_dry_run_says_the_same_and_stores_nothing(masked: Refold) -> None:
    before = events(masked)
    dry = masked("prune", SESSION, "--policy", "all.toml", "--dry-run", "--json").json
    (told,) = masked("prune", SESSION, "--policy", "all.toml", "--dry-run").lines
    assert events(masked) == before
    assert [each in told for each in ("mask: ", " 1 message,", " 90 ", " utf16/4")] == [True] * 4
    assert dry == {**masked("prune", SESSION, "--policy", "all.toml", "--json").json, "events": []}


def test_a_counter_that_can_only_be_estimated_is_reported(
    masked: Refold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.tokens._o200k", lambda _: None)
    (tmp_path / "exact.toml").write_text(
        'name = "exact"\ncounter = "o200k"\nrewrites = [{part = "mask", keep_observations = 0}]\n'
    )
    told = masked("prune", SESSION, "--policy", "exact.toml", "--dry-run")
    (note,), (line,) = told.notes, told.lines
    saved = line.endswith(" 90 tokens less by bytes/4, an estimate")
    assert ("o200k" in note, "bytes/4" in note, saved) == (True, True, True)


@pytest.mark.usefixtures("o200k")
@pytest.mark.parametrize(("model", "is_estimate"), [("gpt-4o", False), ("claude-sonnet-4-5", True)])
def test_o200k_is_an_estimate_for_models_that_have_another_vocabulary(
    refold: Refold, *, model: str, is_estimate: bool
) -> None:
    Path("talk.jsonl").write_bytes(long_talk().replace(b'"model":"m"', f'"model":"{model}"'.encode()))
    Path("exact.toml").write_text(
        'name = "exact"\ncounter = "o200k"\nrewrites = [{part = "mask", keep_observations = 0}]\n'
    )
    done = refold("prune", "talk.jsonl", "--policy", "exact.toml", "--dry-run", "--json").json
    assert (done["counter"], done["estimate"]) == ("o200k", is_estimate)
    (line,) = refold("prune", "talk.jsonl", "--policy", "exact.toml", "--dry-run").lines
    assert line.endswith(" by o200k, an estimate" if is_estimate else " by o200k")


def test_each_rewrite_that_finds_nothing_says_why(masked: Refold, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(
        'name = "two"\nrewrites = [{part = "mask", keep_observations = 0}, {part = "micro"}]\n'
    )
    mask, micro = masked("prune", SESSION, "--policy", "two.toml", "--dry-run").lines
    assert (mask.split(":")[0], micro.split(":")[0], len(micro.split(": "))) == ("mask", "micro", 3)


def test_by_default_the_rewrites_are_those_of_oh_my_pi(refold: Refold, tmp_path: Path) -> None:
    told = PiSession()
    told.says("u1", user("Read it twice."))
    for number in (1, 2):
        told.says(f"a{number}", assistant(call("read", f"k{number}", path="a.py")))
        told.says(f"r{number}", result("x" * 400, tool="read", call_id=f"k{number}"))
    (tmp_path / "twice.jsonl").write_bytes(b"".join(told._lines))
    done = refold("prune", "twice.jsonl", "--json").json
    assert [(each["reason"], each["targets"]) for each in done["rewrites"]] == [("supersede", ["r1"])]


def test_a_policy_without_rewrites_is_reported(talked: Refold) -> None:
    assert talked("prune", SESSION, "--policy", "pi", "--json").json["rewrites"] == []
    assert len(talked("prune", SESSION, "--policy", "pi").lines) == 1
