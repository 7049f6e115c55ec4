from __future__ import annotations

from typing import Any

import pytest

from cli.report.findings import findings
from cli.report.model import Finding
from projections.audit import Counts
from projections.metrics.regret import Regret, Repeat, Rereads, SameError
from tests.support.measured import compaction, future_use, gone, instructions, loss, size


def bad(**given: Any) -> list[str]:
    return [each.text for each in findings(compaction(9, **given), is_undone=False) if each.is_bad]


def regret(repeated: int, errors: int) -> Regret:
    repeat = Repeat(tool="t", target="x", first="e1", first_seq=1, again="e9", again_seq=9, after_calls=1)
    error = SameError(error="E", first="e1", first_seq=1, again="e9", again_seq=9)
    return Regret(
        calls=5,
        repeated=repeated,
        rereads=Rereads(next3=0, next10=0, all=0),
        rounds_to_new_action=None,
        repeats=[repeat] * repeated,
        errors=[error] * errors,
    )


def test_where_nothing_is_wrong_that_is_said() -> None:
    assert findings(compaction(9), is_undone=False) == [
        Finding(text="nothing lost that was needed", is_bad=False)
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"future_use": future_use(1, 3, loss("a"), loss("b"))},
            "2 needed later and lost, 2 never given back",
        ),
        ({"instructions": instructions(2, gone("Never."))}, "1 instruction gone"),
        ({"regret": regret(2, 0)}, "2 calls repeated"),
        ({"regret": regret(0, 1)}, "1 error met again"),
        (
            {"messages": Counts(summarized=1, kept=0, dropped=2)},
            "2 messages left the context with no summary covering them",
        ),
        ({"size": size(10, 10)}, "the context did not get smaller"),
        ({"summary": " "}, "its summary is empty"),
    ],
)
def test_what_was_lost_is_said(given: dict[str, Any], said: str) -> None:
    assert bad(**given) == [said]


def test_what_was_needed_comes_first() -> None:
    assert (
        bad(summary="", future_use=future_use(0, 1, loss("a")))[0]
        == "1 needed later and lost, 1 never given back"
    )


def test_what_was_undone_is_said_and_is_nothing_bad() -> None:
    assert findings(compaction(9, summary=""), is_undone=True) == [
        Finding(text="undone", is_bad=False),
        Finding(text="its summary is empty", is_bad=True),
    ]
