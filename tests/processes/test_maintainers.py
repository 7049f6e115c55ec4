"""Two harnesses' maintainers of one session: what one has done, the other does not do again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compaction.plan import COMPACTED
from eventstore import open_store
from eventstore.verify import verify
from tests.cli import long_talk
from tests.cli.long_talk import SESSION
from tests.cli.running import Refold
from tests.support.patience import PATIENCE


@pytest.fixture
def refold(tmp_path: Path) -> Refold:
    """The command with a session that is due for a compaction, and a policy that says so."""
    refold = Refold(tmp_path / "store")
    refold("sync", long_talk.write(tmp_path / "talk.jsonl"))
    (tmp_path / "tight.toml").write_text(
        'name = "tight"\nextends = "pi"\n[trigger]\nreserve = 300\n'
        '[cut]\npart = "keep-recent"\ntokens = 250\n[prompting]\ntemplate = "short"\nturn_prefix = ""\n'
    )
    return refold


def maintained(refold: Refold, line: bytes) -> list[Any]:
    """Send a line to two processes at once; return both answers, ordered by their content."""
    policy = ("--policy", refold.store.parent / "tight.toml", "--window", "1000")
    asking = ("--summarizer", "http")
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    both = [refold.started("maintain", SESSION, *policy, *asking, **streams) for _ in range(2)]
    for process in both:
        assert process.stdin is not None
        process.stdin.write(line)
        process.stdin.flush()
    said = [process.communicate(timeout=PATIENCE)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    return sorted((json.loads(each) for each in said), key=lambda advice: advice["tokens"] is None)


def kinds(refold: Refold) -> list[str]:
    with open_store(refold.store) as log:
        assert verify(log).findings == []
    return [event["kind"] for event in refold("log", SESSION, "--json").json_lines]


@pytest.mark.usefixtures("patient_service")
def test_of_two_at_the_threshold_one_compacts_and_both_are_told_that_the_history_is_another(
    refold: Refold,
) -> None:
    ours, theirs = maintained(refold, b'{"on":"after_turn"}\n')
    assert (ours["reason"], theirs["reason"]) == ("threshold", COMPACTED)
    assert (ours["historyRewritten"], theirs["historyRewritten"]) == (True, True)
    assert (ours["error"], theirs["error"]) == (None, None)
    assert kinds(refold).count("compaction") == 1


@pytest.mark.usefixtures("patient_service")
def test_of_two_that_recover_one_compacts(refold: Refold) -> None:
    said = maintained(refold, b'{"on":"error","error":"prompt is too long"}\n')
    assert [(advice["do"], advice["error"]) for advice in said] == [("retry", None), ("retry", None)]
    assert kinds(refold).count("compaction") == 1
