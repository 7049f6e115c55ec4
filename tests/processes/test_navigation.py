"""Two programs that go elsewhere in one session: the second is told, and nothing of its append is stored."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from compaction.plan import LEFT
from eventstore import open_store
from eventstore.harnesses.refold.events import compose
from eventstore.records import LeafMoved
from eventstore.verify import verify
from tests.cli import long_talk
from tests.cli.long_talk import SESSION
from tests.cli.running import Refold
from tests.support import sentences
from tests.support.events import events, message, version
from tests.support.patience import PATIENCE
from tests.support.processes import running

ACT_SLOWLY = """
import sys
from compaction.branching.fork import fork
from compaction.branching.move import go
from compaction.branching.undo import undo
from eventstore import SessionWriter, open_store
from eventstore.event import random_id
from eventstore.errors import RefoldError
def new_id():
    print("planned", flush=True)
    sys.stdin.readline()
    return random_id()
with open_store(sys.argv[1]) as log:
    writer = SessionWriter(log, "s", new_id=new_id)
    act = {
        "move": lambda: go(writer, "a").events,
        "summary": lambda: go(writer, "a", summary="tried", label="here").events,
        "undo": lambda: undo(writer).events,
        "fork": lambda: [fork(log, "s", name="f", new_id=new_id).session],
    }[sys.argv[2]]
    print("opened", flush=True)
    sys.stdin.readline()
    try:
        print("stored", len(act()))
    except RefoldError as error:
        print(type(error).__name__, error)
"""

ACTS = ("move", "summary", "undo")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a session that has a branch to leave and a move to undo."""
    with open_store(tmp_path / "store") as log:
        log.append("s", [message("a", role="assistant"), message("b", role="assistant")])
        move = compose(LeafMoved(from_id="c"), id="moved", time=0, parent="b")
        log.append("s", [message("c", role="assistant", parent="a"), move])
    return tmp_path / "store"


def ends(store: Path, first: str, second: str) -> tuple[str, str]:
    """Let two programs act after both have planned; return the last line of each."""
    with running(ACT_SLOWLY, store, first) as winner, running(ACT_SLOWLY, store, second) as loser:
        for program in (winner, loser):
            assert program.hear() == "opened"
            assert program.ask() == "planned"
        return winner.finish()[-1], loser.finish()[-1]


@pytest.mark.parametrize("first", ACTS)
@pytest.mark.parametrize("second", ["move", "summary"])
def test_of_two_that_have_planned_at_the_same_version_one_acts(store: Path, first: str, second: str) -> None:
    stored, refused = ends(store, first, second)
    now = 4 + int(stored.removeprefix("stored "))
    assert refused.startswith("VersionConflictError session 's' ")
    assert sentences.numbers(refused) == [now, 4]
    with open_store(store) as log:
        assert version(log, "s") == now
        assert verify(log).findings == []


@pytest.mark.parametrize(("first", "is_left"), [("undo", False), ("move", True), ("summary", True)])
def test_an_undo_that_was_planned_before_another_acted_looks_again_and_undoes_nothing_else(
    store: Path, first: str, *, is_left: bool
) -> None:
    stored, refused = ends(store, first, "undo")
    assert refused.startswith("BadInputError event 'moved': ")
    assert refused.endswith(": refold go s moved") == is_left
    with open_store(store) as log:
        assert version(log, "s") == 4 + int(stored.removeprefix("stored "))
        assert verify(log).findings == []


def test_of_two_forks_of_one_name_one_is_made(store: Path) -> None:
    stored, refused = ends(store, "fork", "fork")
    assert stored == "stored 1"
    assert refused.startswith("BadInputError session 'f': ")
    with open_store(store) as log:
        assert [event.id for event in events(log, "f")][1:] == ["a", "b", "moved"]
        assert verify(log).findings == []


def test_a_fork_is_of_the_session_as_it_was_when_it_was_planned(store: Path) -> None:
    assert ends(store, "move", "fork") == ("stored 1", "stored 1")
    with open_store(store) as log:
        assert [event.id for event in events(log, "f")][1:] == ["a", "b", "moved"]


@pytest.mark.usefixtures("patient_service")
def test_of_two_that_go_to_one_place_with_a_summary_one_goes_and_nothing_is_summarized_twice(
    tmp_path: Path,
) -> None:
    refold = Refold(tmp_path / "store")
    refold("sync", long_talk.write(tmp_path / "talk.jsonl"))
    asking = ("--summarize", "Briefly.", "--summarizer", "http", "--json")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    both = [refold.started("go", SESSION, "a3", *asking, **streams) for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE) for process in both]
    assert sorted(process.returncode for process in both) == [0, 1]
    outcomes = sorted((json.loads(out)["outcome"], json.loads(out)["reason"]) for out, _ in said)
    assert outcomes == [("moved", ""), ("stale", LEFT)]
    kinds = [event["kind"] for event in refold("log", SESSION, "--json").json_lines]
    assert (kinds.count("branch_summary"), kinds.count("attempt")) == (1, 1)
