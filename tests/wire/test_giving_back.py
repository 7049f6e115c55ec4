"""Programs with refold send the rules that a summary forgot; without refold, what they always send."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from eventstore.paths import events
from projections.person_text import GIVEN_BACK, person_text
from tests.wire.compare import compare
from tests.wire.contexts import sessions_in
from tests.wire.install import CACHE, RELEASES, Installed, InstallError, cache_folder, install
from tests.wire.recording import requests_in
from tests.wire.run import can_run
from tests.wire.scenarios.giving_back import INTEGRATIONS, RULES, TALKS, scenarios

_OF_A_RUN = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|/mnt/tmp/[^\"\\ ]*"
)
_FAULTS = ("missing", "crashing", "hanging", "locked", "asked")

pytestmark = [pytest.mark.long, pytest.mark.slow]
Runs = Callable[[str], Path]


@pytest.fixture(scope="module")
def programs() -> Callable[[str], Installed]:
    """A function that installs the newest release of a harness."""
    if not can_run():
        pytest.skip("needs npm, and Linux with namespaces (unshare)")
    folder = cache_folder()

    @cache
    def program(harness: str) -> Installed:
        os.environ.setdefault(CACHE, str(folder))
        try:
            return install(harness, RELEASES[harness][-1], folder)
        except InstallError as error:
            pytest.skip(f"the program was not installed: {error}")

    return program


@pytest.fixture(scope="module")
def runs(programs: Callable[[str], Installed], tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A function that runs all scenarios of a harness, and returns their folder."""

    @cache
    def run(harness: str) -> Path:
        programs(harness)
        folder = tmp_path_factory.mktemp(harness)
        names = [each.name for each in scenarios(harness)]
        command = [sys.executable, "-m", "tests.wire.run", harness, RELEASES[harness][-1], str(folder)]
        subprocess.run([*command, "--giving-back", *names], check=True)
        return folder

    return run


def sent(folder: Path, name: str) -> list[tuple[str, str]]:
    """Return the rule that answered each request and its messages, without what every run has of its own."""
    found = requests_in(folder / name / "requests.jsonl")
    return [
        (
            each["rule"],
            _OF_A_RUN.sub(
                "…", json.dumps(each["body"].get("messages") or each["body"]["input"], ensure_ascii=False)
            ),
        )
        for each in found
    ]


def behind(folder: Path, name: str) -> list[str]:
    """Return the requests behind the first compaction."""
    found = sent(folder, name)
    first = [rule for rule, _ in found].index("compaction")
    return [text for rule, text in found[first:] if rule == "main"]


@pytest.mark.parametrize("harness", TALKS)
def test_what_a_summary_forgot_is_sent_once(runs: Runs, harness: str) -> None:
    given, stock = behind(runs(harness), "given-back"), behind(runs(harness), "stock")
    assert given
    assert [[text.count(rule) for rule in RULES] for text in given] == [[1, 1, 1]] * len(stock)
    assert [[text.count(rule) for rule in RULES] for text in stock] == [[0, 0, 1]] * len(stock)


@pytest.mark.parametrize("harness", ["claude-code", "oh-my-pi", "opencode"])
def test_a_summarizer_is_told_the_rules(runs: Runs, harness: str) -> None:
    asked = [text for rule, text in sent(runs(harness), "given-back") if rule == "compaction"]
    assert [2, 2, 2] in [[text.count(rule) for rule in RULES] for text in asked]


@pytest.mark.parametrize("harness", ["pi", "oh-my-pi"])
def test_a_policy_makes_the_compaction(runs: Runs, harness: str) -> None:
    found = sent(runs(harness), "policy")
    assert not [rule for rule, _ in found if rule == "compaction"]
    assert [found[-1][1].count(rule) for rule in RULES] == [1, 1, 1]


@pytest.mark.parametrize("fault", _FAULTS)
@pytest.mark.parametrize("harness", TALKS)
def test_without_refold_the_requests_are_stock(runs: Runs, harness: str, fault: str) -> None:
    assert sorted(sent(runs(harness), fault)) == sorted(sent(runs(harness), "stock"))


@pytest.mark.parametrize("harness", TALKS)
def test_what_was_given_back_reads_as_such(runs: Runs, harness: str) -> None:
    folder = runs(harness) / "given-back"
    with sessions_in(folder / "sessions").snapshot() as snapshot:
        said = [person_text(event) for head in snapshot.heads() for event in events(snapshot, head.name)]
    assert set(RULES) <= set(said)
    assert not any(GIVEN_BACK in each for each in said)
    counts = compare(runs(harness), "given-back")
    assert counts.compared
    assert counts.differences == compare(runs(harness), "stock").differences


def test_claude_code_validates_the_plugin(programs: Callable[[str], Installed], tmp_path: Path) -> None:
    program = programs("claude-code")
    environment = {
        "HOME": str(tmp_path),
        "PATH": ":".join((*program.path, "/usr/bin", "/bin")),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    command = [*program.command, "plugin", "validate", str(INTEGRATIONS / "claude-code")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
