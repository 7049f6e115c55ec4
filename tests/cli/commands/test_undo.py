from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli import long_talk
from tests.cli.running import Refold
from tests.cli.tale import SESSION


def context(refold: Refold, *arguments: str) -> bytes:
    return refold("context", SESSION, *arguments, "--format", "pi").raw


def events(refold: Refold) -> int:
    count: int = refold("sessions", "--json").json["sessions"][0]["events"]
    return count


def test_json_tells_what_was_undone_and_the_sizes(told: Refold) -> None:
    found = told("undo", SESSION, "c1", "--json").json
    (event,) = found.pop("events")
    assert told("show", SESSION, event, "--json").json["record"] == {"type": "undone", "targetId": "c1"}
    assert found == {
        "counter": "utf16/4",
        "estimate": True,
        "session": SESSION,
        "undone": [{"id": "c1", "seq": 12, "kind": "compaction"}],
        "before": {"tokens": 33, "messages": 6},
        "after": {"tokens": 1062, "messages": 11},
    }


@pytest.mark.parametrize("name", ["it's; echo $HOME", "-x", "a  b"])
def test_the_commands_that_are_printed_work_whatever_the_session_is_called(
    refold: Refold, tmp_path: Path, name: str
) -> None:
    refold("sync", long_talk.write(tmp_path / "talk.jsonl"), "--as", name)
    done = refold("compact", "--keep-recent", "250", "--summarizer", "extractive", "--", name)
    for verb in ("undid compaction", "undid undo"):
        program, *arguments = shlex.split(done.lines[-1].partition(": ")[2])
        done = refold(*arguments)
        assert (program, done.lines[0].startswith(verb)) == ("refold", True)
