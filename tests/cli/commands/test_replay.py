from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from eventstore.errors import NotFoundError
from tests.cli.running import PROJECT, Refold
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


def test_the_readme_shows_the_table_that_its_command_prints(refold: Refold) -> None:
    readme = (PROJECT / "README.md").read_text("utf-8")
    section = readme.split("**What would another policy have kept?**")[1].split("\n**")[0]
    (line,) = (each for each in section.splitlines() if each.startswith("    refold replay"))
    refold("--store", str(refold.store), "demo")
    printed = refold(*shlex.split(line)[1:]).lines
    variants = ["recorded", "refold", "drop"]
    table = [each.strip("| ").split(" | ") for each in section.splitlines() if each.startswith("| ")][2:]
    rows = [each.split() for each in printed if each.split()[:1] and each.split()[0] in variants][:3]
    # The README leaves out the counts of boundaries and of failures.
    assert [[row[0], *row[3:]] for row in rows] == table
    assert [row[0] for row in table] == variants


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


def test_the_program_of_the_docs_compacts(refold: Refold, tmp_path: Path) -> None:
    page = (PROJECT / "docs" / "policies.md").read_text("utf-8")
    (text,) = re.findall(r"```python\n(.*?sys\.stdin.*?)```", page, re.DOTALL)
    (tmp_path / "compactor.py").write_text(text)
    refold("--store", str(refold.store), "demo")
    program = shlex.join([sys.executable, str(tmp_path / "compactor.py")])
    found = refold(
        *("replay", DEMO, "--at", "recorded", "--with", "drop", "--keep-recent", "1000"),
        *("--command", program, "--window", "10000", "--json"),
    ).json
    assert [each["variant"] for each in found["variants"]] == ["drop", program]
    theirs = [each for each in found["trials"] if each["variant"] == program]
    assert theirs
    assert all(each["error"] is None and each["tokensAfter"] < each["tokensBefore"] for each in theirs)


def test_a_program_that_fails_leaves_the_other_variants_their_results(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    program = shlex.join([sys.executable, "-c", "import time; time.sleep(60)"])
    options = (
        "--at",
        "recorded",
        "--with",
        "recorded",
        "--command",
        program,
        "--timeout",
        "1",
        "--jobs",
        "1",
    )
    found = refold("replay", DEMO, *options, "--json").json
    recorded, theirs = found["variants"]
    assert (recorded["failed"], recorded["trials"]) == (0, len(found["boundaries"]))
    assert (theirs["failed"], theirs["trials"]) == (len(found["boundaries"]), 0)


def test_a_program_that_is_not_there_is_refused_at_once(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    assert (
        refold.refused(NotFoundError, "replay", DEMO, "--command", "no-such-program").name
        == "no-such-program"
    )
    refold("replay", DEMO, "--with", "refold", "--with", "refold", code=2)


def test_standard_output_holds_the_page_alone(told: Refold) -> None:
    page = told("replay", "--all", "-o", "-", "--json").out
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "flattered" in page
