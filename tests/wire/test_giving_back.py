"""Programs with refold send the rules that a summary forgot; without refold, what they always send."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cli.commands.install import INTEGRATIONS
from compaction.giving_back import BEHIND
from eventstore.paths import events
from projections.person_text import GIVEN_BACK, person_text
from tests.wire import rounds
from tests.wire.compare import compare
from tests.wire.contexts import sessions_in
from tests.wire.install import CACHE, RELEASES, Installed, InstallError, cache_folder, install
from tests.wire.rounds import ROUNDS, Round, sent
from tests.wire.run import can_run
from tests.wire.scenarios.giving_back import FAULTS, RULES, TALKS

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
        rounds.run(harness, folder)
        return folder

    return run


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


def test_rules_last_over_rounds(runs: Runs) -> None:
    given, stock = (rounds.rounds(runs("claude-code"), name) for name in ("given-back", "stock"))
    assert min(len(given), len(stock)) >= ROUNDS
    assert all(each.rules == (1, 1, 1) and 0 < each.tokens <= BEHIND for each in given)
    assert stock == [Round((0, 0, 1), 0)] * len(stock)


@pytest.mark.parametrize("harness", ["claude-code", "oh-my-pi", "opencode"])
def test_a_summarizer_is_told_the_rules(runs: Runs, harness: str) -> None:
    asked = [text for rule, text in sent(runs(harness), "given-back") if rule == "compaction"]
    assert [2, 2, 2] in [[text.count(rule) for rule in RULES] for text in asked]


def test_a_prompt_behind_a_compaction_has_them(runs: Runs) -> None:
    (given,) = behind(runs("opencode"), "by-hand")
    assert [given.count(rule) for rule in RULES] == [1, 1, 1]


def test_words_within_a_turn_come_once(runs: Runs) -> None:
    given = [[text.count(rule) for rule in RULES] for text in behind(runs("oh-my-pi"), "within-a-turn")]
    assert given[-1] == [1, 1, 1]
    assert all(max(counts) == 1 for counts in given)


def test_commands_ask_about_their_own_session(runs: Runs) -> None:
    asked = (runs("claude-code") / "commands" / "requests.jsonl").read_text()
    named = re.findall(r"refold (?:audit|files|rules|show) (\S+?)[` ]", asked)
    assert len({*named}) == 1
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", named[0])


def test_openai_keeps_what_a_person_said(runs: Runs) -> None:
    for text in behind(runs("codex"), "remote"):
        assert '"type": "compaction"' in text
        assert [text.count(rule) for rule in RULES] == [1, 1, 1]
        assert GIVEN_BACK not in text


def test_codex_runs_only_trusted_hooks(runs: Runs) -> None:
    assert sorted(sent(runs("codex"), "untrusted")) == sorted(sent(runs("codex"), "stock"))


def test_hooks_do_the_work_without_modules(runs: Runs) -> None:
    asked = [text for rule, text in sent(runs("claude-code"), "without-modules") if rule == "compaction"]
    assert min(text.count(rule) for text in asked for rule in RULES) == 2
    # Its summary has the last, which the hook cannot see.
    assert {each.rules for each in rounds.rounds(runs("claude-code"), "without-modules")} == {(1, 1, 2)}


@pytest.mark.parametrize("harness", ["pi", "oh-my-pi"])
def test_a_policy_makes_the_compaction(runs: Runs, harness: str) -> None:
    found = sent(runs(harness), "policy")
    assert not [rule for rule, _ in found if rule == "compaction"]
    assert [found[-1][1].count(rule) for rule in RULES] == [1, 1, 1]


@pytest.mark.parametrize("fault", FAULTS)
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


@pytest.fixture
def claude(programs: Callable[[str], Installed], tmp_path: Path) -> dict[str, str]:
    """An environment in which `claude` is Claude Code, with an empty home."""
    program = programs("claude-code")
    folders = (str(Path(program.command[0]).parent), *program.path, "/usr/bin", "/bin")
    return {
        "HOME": str(tmp_path),
        "PATH": ":".join(folders),
        "PYTHONPATH": str(INTEGRATIONS.parent),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def done(environment: dict[str, str], *command: str) -> None:
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_claude_code_validates_the_plugin(claude: dict[str, str]) -> None:
    done(claude, "claude", "plugin", "validate", str(INTEGRATIONS / "claude-code"))


def test_claude_code_forgets_what_is_uninstalled(claude: dict[str, str], tmp_path: Path) -> None:
    def naming() -> list[str]:
        files = (each for each in (tmp_path / ".claude").rglob("*") if each.is_file())
        return [each.name for each in files if b"refold" in each.read_bytes() or "refold" in str(each)]

    install_it = (sys.executable, "-m", "refold", "install", "claude-code", "--yes")
    done(claude, *install_it)
    assert "settings.json" in naming()
    done(claude, *install_it, "--uninstall")
    assert naming() == []
