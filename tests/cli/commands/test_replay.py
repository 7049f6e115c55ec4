from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import Refold
from tests.cli.tale import tale
from tests.support.stores import damage, make_store

DEMO = "demo-rate-limiter"


def replayed(refold: Refold, *arguments: str, code: int = 0) -> list[str]:
    """The sessions of all boundaries, each once."""
    variants = ("--with", "recorded", "--with", "drop", "--keep-recent", "0")
    found = refold("replay", *arguments, "--at", "recorded", *variants, "--json", code=code).json
    assert len(found["trials"]) == 2 * len(found["boundaries"])
    return list(dict.fromkeys(each["session"] for each in found["boundaries"]))


def test_all_leaves_out_forks_which_would_count_the_same_events_twice(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    refold("fork", DEMO, "--as", "trial")
    assert replayed(refold, "trial") == ["trial"]
    assert replayed(refold, "--all") == [DEMO]


def test_all_leaves_out_earlier_generations(told: Refold, tmp_path: Path) -> None:
    (session,) = replayed(told, "--all")
    (tmp_path / "anew.jsonl").write_bytes(re.sub(rb'"([a-z][0-9])"', rb'"new-\1"', tale()))
    told("import", "anew.jsonl")
    assert replayed(told, session) == [session]
    assert replayed(told, "--all") == [f"{session}~2"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_others_are_replayed_if_a_session_is_damaged(refold: Refold, jobs: str) -> None:
    make_store(refold.store, 3, messages=6)
    damage(refold.store, 2, 3)
    assert replayed(refold, "--all", "--jobs", jobs, code=1) == ["session-00000", "session-00002"]
