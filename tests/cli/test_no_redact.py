"""No command sends a secret to a model, unless it is told to."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.long_talk import SESSION, write
from tests.cli.running import Refold
from tests.support.messages_api import MessagesApi, complete, says

TOKEN: Final = f"ghp_{'Ab1' * 12}"
ALL: Final = ("--keep-recent", "1")
COMMANDS: Final = {
    "compact": (("compact", SESSION, *ALL), ""),
    "go": (("go", SESSION, "#1", "--summarize"), ""),
    "handoff": (("handoff", SESSION), ""),
    "maintain": (("maintain", SESSION, "--policy", "all.toml"), '{"on":"compact"}'),
    "replay": (("replay", SESSION, "--at", "recorded", "--with", "refold@anthropic", "--yes", *ALL), ""),
    "judge": (("judge", SESSION, "--yes"), ""),
}
POLICY: Final = 'name = "all"\n[cut]\npart = "keep-recent"\ntokens = 1\n'


@pytest.fixture
def refold(refold: Refold, tmp_path: Path) -> Refold:
    """The command with a store that holds a long session with a token."""
    file = write(tmp_path / "talk.jsonl")
    file.write_bytes(re.sub(rb"(Fix|Answer) ", rf"\1 {TOKEN} ".encode(), file.read_bytes()))
    (tmp_path / "all.toml").write_text(POLICY)
    refold("sync", file)
    return refold


@pytest.fixture
def bodies(refold: Refold, messages_api: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """From a command to the bodies of the requests that it sends."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def run(command: str, *options: str) -> str:
        arguments, given = COMMANDS[command]
        if command == "replay":
            refold("compact", SESSION, "--summarizer", "extractive", *ALL)
        api: MessagesApi = messages_api(
            says('{"rules":[],"facts":[],"losses":[]}' if command == "judge" else complete)
        )
        asking = () if command == "replay" else ("--summarizer", "anthropic")
        refold(*arguments, *asking, *options, stdin=given)
        assert api.requests
        return json.dumps([request.json for request in api.requests])

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_gets_no_secret(bodies: Any, command: str) -> None:
    assert TOKEN not in (sent := bodies(command))
    assert "[masked-1" in sent


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_gets_secrets_where_that_is_wanted(bodies: Any, command: str) -> None:
    assert TOKEN in bodies(command, "--no-redact")
