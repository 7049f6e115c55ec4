"""Two programs that make one session smaller: what one has compacted, the other does not compact again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compaction.plan import COMPACTED, LEFT
from eventstore import open_store
from eventstore.verify import verify
from tests.cli import long_talk
from tests.cli.long_talk import SESSION
from tests.cli.running import Refold
from tests.support.events import events
from tests.support.patience import PATIENCE
from tests.support.processes import Program, running

COMPACT_SLOWLY = """
import sys
from compaction.compactor import Compactor
from compaction.cuts import KeepRecent
from compaction.part import Limits
from compaction.policy.load import find_policy
from compaction.summarizers import Answer
from compaction.summarizers.chain import SummarizerChain
from eventstore import SessionWriter, open_store
from projections.tokens import counter
class Slow:
    name = "slow"
    def summarize(self, prompt, *, is_cancelled):
        print("asked", flush=True)
        sys.stdin.readline()
        return Answer(text="\\n".join(f"## {section}" for section in prompt.template.sections), model="slow")
with open_store(sys.argv[1]) as log:
    chain = SummarizerChain(summarizers=[Slow()])
    policy, tokens = find_policy("pi"), counter("utf16/4")
    compactor = Compactor(policy=policy, chain=chain, limits=Limits(window=200_000), tokens=tokens)
    done = compactor.compact(SessionWriter(log, sys.argv[2]), cut=KeepRecent(tokens=250))
    print(done.outcome, done.reason)
"""

ACT = """
import sys
from compaction.branching.move import go
from eventstore import SessionWriter, open_store
with open_store(sys.argv[1]) as log:
    writer = SessionWriter(log, sys.argv[2])
    if sys.argv[3] == "says more":
        writer.message({"role": "user", "content": "One more thing."})
    else:
        go(writer, "a3")
    print("done", flush=True)
"""


@pytest.fixture
def refold(tmp_path: Path) -> Refold:
    """The command with a store that holds a session which is due for a compaction."""
    refold = Refold(tmp_path / "store")
    refold("sync", long_talk.write(tmp_path / "talk.jsonl"))
    return refold


def compactions(refold: Refold) -> list[Any]:
    """The session's compactions; the store is sound."""
    with open_store(refold.store) as log:
        assert verify(log).findings == []
        return [event for event in events(log, SESSION) if event.kind == "compaction"]


def compacting(refold: Refold) -> Any:
    return running(COMPACT_SLOWLY, refold.store, SESSION)


def ends(program: Program) -> str:
    """Give a waiting program its summary and return the last line that it prints."""
    program.say("go on")
    return program.finish()[-1]


@pytest.mark.usefixtures("patient_service")
def test_of_two_commands_at_once_one_compacts(refold: Refold) -> None:
    cut = ("--keep-recent", "250", "--template", "short")
    asking = ("--summarizer", "http", "--json")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    both = [refold.started("compact", SESSION, *cut, *asking, **streams) for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert [errors for _, errors in said] == [b"", b""]
    outcomes = sorted((json.loads(out)["outcome"], json.loads(out)["reason"]) for out, _ in said)
    assert outcomes == [("compacted", ""), ("nothing", COMPACTED)]
    assert len(compactions(refold)) == 1


def test_the_second_of_two_producers_appends_but_what_its_summary_cost(refold: Refold) -> None:
    with compacting(refold) as winner, compacting(refold) as loser:
        assert (winner.hear(), loser.hear()) == ("asked", "asked")
        assert ends(winner) == "compacted "
        before = refold("context", SESSION, "--format", "pi").raw
        assert ends(loser) == f"nothing {COMPACTED}"
    assert refold("context", SESSION, "--format", "pi").raw == before
    with open_store(refold.store) as log:
        assert [event.kind for event in events(log, SESSION)][-2:] == ["compaction", "attempt"]


def test_what_is_said_while_a_summary_is_made_is_kept_behind_it(refold: Refold) -> None:
    with compacting(refold) as program:
        assert program.hear() == "asked"
        with running(ACT, refold.store, SESSION, "says more") as other:
            assert other.hear() == "done"
        assert ends(program) == "compacted "
    texts = [part["message"].get("content") for part in refold("context", SESSION, "--json").json["messages"]]
    assert texts[-1] == "One more thing."
    assert len(compactions(refold)) == 1


def test_a_branch_that_is_left_while_its_summary_is_made_is_not_compacted(refold: Refold) -> None:
    with compacting(refold) as program:
        assert program.hear() == "asked"
        with running(ACT, refold.store, SESSION, "leaves") as other:
            assert other.hear() == "done"
        assert ends(program) == f"nothing {LEFT}"
    assert compactions(refold) == []


def test_one_that_is_killed_while_it_waits_leaves_nothing_behind(refold: Refold) -> None:
    before = refold("log", SESSION, "--json").raw
    with compacting(refold) as program:
        assert program.hear() == "asked"
        program.kill()
    assert refold("log", SESSION, "--json").raw == before
    assert (
        refold("compact", SESSION, "--keep-recent", "250", "--summarizer", "extractive", "--json").json[
            "outcome"
        ]
        == "compacted"
    )


def test_of_two_that_prune_at_once_none_rewrites_what_is_rewritten(refold: Refold, tmp_path: Path) -> None:
    policy = tmp_path / "all.toml"
    policy.write_text('name = "all"\nrewrites = [{part = "mask", keep_observations = 0}]\n')
    both = [
        refold.started("prune", SESSION, "--policy", policy, "--json", stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [json.loads(process.communicate(timeout=PATIENCE)[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(len(each["rewrites"]) for each in said) == [0, 1]
