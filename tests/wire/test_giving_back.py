"""Claude Code with refold's plugin sends the rules that a summary forgot; without refold, what it always sends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wire.install import CACHE, RELEASES, Installed, InstallError, cache_folder, install
from tests.wire.recording import requests_in
from tests.wire.run import can_run
from tests.wire.scenarios.giving_back import PLUGIN, RULES, SCENARIOS

VERSION = RELEASES["claude-code"][-1]
_OF_A_RUN = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|/mnt/tmp/[^\"\\ ]*"
)


@pytest.fixture(scope="module")
def cache() -> Path:
    """The folder in which Claude Code is installed."""
    if not can_run():
        pytest.skip("needs npm, and Linux with namespaces (unshare)")
    return cache_folder()


@pytest.fixture(scope="module")
def program(cache: Path) -> Installed:
    """Claude Code."""
    try:
        return install("claude-code", VERSION, cache)
    except InstallError as error:
        pytest.skip(f"the program was not installed: {error}")


@pytest.fixture(scope="module")
def runs(program: Installed, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all scenarios."""
    del program
    folder = tmp_path_factory.mktemp("giving-back")
    names = [each.name for each in SCENARIOS]
    command = [sys.executable, "-m", "tests.wire.run", "claude-code", VERSION, str(folder)]
    subprocess.run([*command, "--giving-back", *names], env={**os.environ, CACHE: str(cache)}, check=True)
    return folder


def sent(runs: Path, name: str) -> list[str]:
    """Return the messages of each request, without what every run has of its own."""
    found = requests_in(runs / name / "requests.jsonl")
    return [_OF_A_RUN.sub("…", json.dumps(each["body"]["messages"], ensure_ascii=False)) for each in found]


@pytest.mark.long
@pytest.mark.slow
def test_what_a_summary_forgot_is_sent_once(runs: Path) -> None:
    *_, summarized, behind = sent(runs, "given-back")
    assert [behind.count(rule) for rule in RULES] == [1, 1, 1]
    assert [summarized.count(rule) for rule in RULES] == [2, 2, 2]
    assert [sent(runs, "stock")[-1].count(rule) for rule in RULES] == [0, 0, 1]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["missing", "crashing", "hanging", "locked"])
def test_without_refold_the_requests_are_stock(runs: Path, fault: str) -> None:
    stock, faulty = sent(runs, "stock"), sent(runs, fault)
    assert len(faulty) == len(stock)
    assert faulty[-1] == stock[-1]


@pytest.mark.long
@pytest.mark.slow
def test_the_program_validates_the_plugin(program: Installed, tmp_path: Path) -> None:
    environment = {
        "HOME": str(tmp_path),
        "PATH": ":".join((*program.path, "/usr/bin", "/bin")),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    command = [*program.command, "plugin", "validate", str(PLUGIN)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
