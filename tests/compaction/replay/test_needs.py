"""Find what a model used behind a boundary and can only know from before it."""

from __future__ import annotations

import pytest

from compaction.replay.boundaries import recorded_boundaries
from compaction.replay.needs import held, needs
from eventstore.memory import MemoryLog
from eventstore.records import Compaction
from projections.context.build import context_at
from projections.context.cursor import path, resolve_cursor
from projections.mentions.message_facts import SessionFacts
from tests.support.talk import Json, Story, assistant, call, result, user

PATH = "src/order_parser.py"
HASH = "3f9a2c71d0"


def needed(*later: Json, summary: str = "Parsing works.") -> tuple[list[str], int]:
    """Return the needs of a session behind its compaction, and how many the context after it says."""
    story = Story(MemoryLog(clock=lambda: 0))
    story.says(user("Repair it."), assistant(call("read", path=PATH)), result(f"one\ncommit {HASH}"))
    story.says(assistant("Done."))
    story.add(Compaction(summary=summary, first_kept_entry_id="", tokens_before=9))
    story.says(*later)
    facts = SessionFacts()
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, story.session)
        (boundary,) = recorded_boundaries(snapshot, cursor, path(snapshot, cursor))
        assert boundary.compaction is not None
        found = needs(snapshot, cursor, boundary, facts)
        after = context_at(snapshot, cursor.at_leaf(boundary.compaction.seq))
        return [need.thing for need in found], held(found, after.parts, facts)


def test_used_files_and_hashes_are_needed_once() -> None:
    reads = assistant(call("read", path=PATH), call("bash", "c2", command=f"git show {HASH}"))
    assert needed(user("Go on."), reads, reads) == ([PATH, HASH], 0)


def test_a_summary_that_names_a_file_holds_it() -> None:
    assert needed(assistant(call("read", path=PATH)), summary="See Order-Parser.") == ([PATH], 1)


@pytest.mark.parametrize("said", [PATH, "Look at the order parser.", "tests/test_order_parser.py"])
def test_what_was_said_since_is_not_needed(said: str) -> None:
    assert needed(user(said), assistant(call("read", path=PATH))) == ([], 0)
    assert needed(
        assistant(call("bash", command="ls")), result(said), assistant(call("read", path=PATH))
    ) == ([], 0)


@pytest.mark.parametrize(
    "use",
    [
        call("write", path="notes.md", content=f"See {PATH}"),
        call("bash", command=f"cat > a.txt <<'E'\n{PATH}\nE"),
        call("todo", items=[PATH]),
        call("ask", plan=f"First:\n{PATH}"),
        call("read", path="src/other_parser.py"),
        call("read", path="README.md"),
    ],
)
def test_written_or_conventional_names_are_not_needed(use: Json) -> None:
    assert needed(user("Go on."), assistant(use)) == ([], 0)
