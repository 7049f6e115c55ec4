"""A coding agent that refold asks offers its model no tool, whatever its home holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eventstore.files.discovery import files_below
from projections.asked import is_asked_file
from tests.wire.install import CACHE, RELEASES, InstallError, cache_folder, install
from tests.wire.recording import requests_in
from tests.wire.run import can_run


@pytest.mark.long
@pytest.mark.slow
def test_an_asked_agent_offers_no_tool(tmp_path: Path) -> None:
    if not can_run():
        pytest.skip("needs npm, and Linux with namespaces (unshare)")
    cache, version = cache_folder(), RELEASES["claude-code"][-1]
    try:
        install("claude-code", version, cache)
    except InstallError as error:
        pytest.skip(f"the program was not installed: {error}")
    command = [sys.executable, "-m", "tests.wire.run", "claude-code", version, str(tmp_path), "--asked"]
    subprocess.run(command, env={**os.environ, CACHE: str(cache)}, check=True)
    assert (tmp_path / "asked" / "log.txt").read_text() == "OK."
    requests = requests_in(tmp_path / "asked" / "requests.jsonl")
    assert [each["body"].get("tools") or [] for each in requests] == [[]] * len(requests)
    assert any("build it" in str(each["body"]["messages"]) for each in requests)
    assert [is_asked_file(each) for each in files_below(str(tmp_path / "asked" / "sessions"))] == [True]
