from __future__ import annotations

from tests.cli.running import Refold
from tests.cli.tale import SESSION

READ = ["tests/test_parser.py"]
MODIFIED = ["src/expressions.py", "src/parser.py"]


def test_json_tells_what_was_read_only_and_what_was_modified(told: Refold) -> None:
    found = told("files", SESSION, "--json").json
    assert found == {"session": SESSION, "readFiles": READ, "modifiedFiles": MODIFIED}


def test_files_are_those_up_to_a_leaf(told: Refold) -> None:
    assert told("files", SESSION, "--leaf", "a1").lines == ["read      src/parser.py"]
    assert told("files", SESSION, "--leaf", "b1", "--json").json["modifiedFiles"] == ["src/parser.py"]


def test_a_session_without_files_says_so_beside_the_list(refold: Refold) -> None:
    refold("append", "s", stdin='{"type":"message","message":{"role":"user","content":"hi"}}\n')
    outcome = refold("files", "s")
    assert (outcome.out, len(outcome.notes)) == ("", 1)
    assert refold("files", "s", "--json").notes == []
