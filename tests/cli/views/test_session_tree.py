"""The session tree, folded and in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.pi_files import entry, header, line

TREE = """\
● u1 user
… 3 toolResult, 2 assistant
● u2 user
· a3 assistant
│ ● b1 user
│ · b2 assistant
⤷ s1 branch_summary
∑ c1 compaction
● u3 user
… 1 assistant, 1 label
✎ i1 session_info
""".splitlines()


def test_a_tree_shows_where_something_turns_and_counts_the_rest(told: Refold) -> None:
    lines = told("tree", SESSION).lines
    assert [
        " ".join(line.split()[: len(seen.split())]) for line, seen in zip(lines, TREE, strict=True)
    ] == TREE
    assert ["[halfway]" in line for line in lines].index(True) == 2
    assert lines[-1].endswith("← leaf")


def test_a_full_tree_has_a_line_for_every_entry(told: Refold) -> None:
    lines = told("tree", SESSION, "--full").lines
    assert len(lines) == 16
    assert not [line for line in lines if line.strip().startswith("…")]


def test_the_branch_that_leads_to_the_leaf_is_the_straight_line(told: Refold) -> None:
    told("append", SESSION, stdin=line({"type": "leaf_moved", "parentId": "b2", "id": "m1"}))
    indented = [line.split()[2] for line in told("tree", SESSION, "--full").lines if line.startswith("│ ")]
    assert indented == ["s1", "c1", "u3", "a4", "l1", "i1"]


def test_several_roots_stand_one_below_the_other(told: Refold) -> None:
    told("append", SESSION, stdin=line({"type": "custom", "customType": "x", "id": "r9", "parentId": None}))
    lines = told("tree", SESSION).lines
    assert lines[-1] == "· r9       custom  x  ← leaf"
    assert lines[0].startswith("● u1 ")


def test_a_session_as_deep_as_it_is_long_is_drawn(refold: Refold, tmp_path: Path) -> None:
    said = {"type": "message", "message": {"role": "assistant", "content": []}}
    chain = [entry(f"e{number}", f"e{number - 1}" if number else None, **said) for number in range(3000)]
    (tmp_path / "deep.jsonl").write_bytes(header() + b"".join(chain))
    assert refold("tree", "deep.jsonl").lines[1] == "  … 2998 assistant"


def test_a_tree_of_nothing_is_empty(told: Refold) -> None:
    assert told("tree", SESSION, "--as-of", "0").out == ""


GO_ON = {"type": "message", "message": {"role": "user", "content": "continue"}}
MARKED = {**GO_ON, "metadata": {"compaction_continue": True}}
AGENT_SAYS = {"type": "custom_message", "customType": "compaction_continue", "content": "Go on."}
ANSWER = {"type": "message", "message": {"role": "assistant", "content": "Next."}}
ASKED = {"type": "message", "message": {"role": "user", "content": "Thanks!"}}


@pytest.mark.parametrize("said", [MARKED, AGENT_SAYS], ids=["message", "custom_message"])
def test_what_goes_on_after_a_compaction_is_hidden_and_counted(refold: Refold, said: dict[str, Any]) -> None:
    refold("append", "s", stdin=line(ASKED) + line(said) + line(ANSWER) + line(ASKED))
    assert refold("tree", "s").lines[1] == "  … 1 continuation, 1 assistant"


def test_in_full_it_is_shown_as_nobodys(refold: Refold) -> None:
    refold("append", "s", stdin=line({**MARKED, "id": "e1"}) + line({**ANSWER, "id": "e2"}))
    assert refold("tree", "s", "--full").lines[0] == "· e1       continuation  continue"


def test_the_word_continue_of_a_person_is_a_request(refold: Refold) -> None:
    refold("append", "s", stdin=line({**GO_ON, "id": "e1"}))
    assert refold("tree", "s").lines == ["● e1       user  continue  ← leaf"]
