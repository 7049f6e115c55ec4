from __future__ import annotations

import re
from typing import Any

import pytest

from cli.views.model import Finding, Replaced, audit_view
from cli.views.page.build import findings
from projections.audit.rework import Regret, Repeat, Rereads, SameError
from projections.audit.session import Counts
from tests.support.measured import audit, compaction, future_use, gone, instructions, loss, size


def found_in(replaced: Replaced) -> list[Finding]:
    (view,) = audit_view(audit(replaced)).replacements
    return findings(view)


def bad(**given: Any) -> list[str]:
    return [each.text for each in found_in(compaction(9, **given)) if each.is_bad]


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
    assert [each.is_bad for each in found_in(compaction(9))] == [False]


@pytest.mark.parametrize(
    ("given", "numbers", "about"),
    [
        ({"future_use": future_use(1, 3, loss("a"), loss("b", regained=12))}, ["2", "1"], "needed"),
        ({"instructions": instructions(2, gone("Never."))}, ["1"], "instruction"),
        ({"regret": regret(2, 0)}, ["2"], "calls"),
        ({"regret": regret(0, 1)}, ["1"], "error"),
        ({"messages": Counts(summarized=1, kept=0, dropped=2)}, ["2"], "messages"),
        ({"size": size(10, 10)}, [], "smaller"),
        ({"summary": " "}, [], "summary"),
    ],
)
def test_what_was_lost_is_said(given: dict[str, Any], numbers: list[str], about: str) -> None:
    (said,) = bad(**given)
    assert (re.findall(r"\d+", said), about in said) == (numbers, True)


def test_what_was_needed_comes_first() -> None:
    found = bad(summary="", future_use=future_use(0, 1, loss("a")))
    assert ["needed" in said for said in found] == [True, False]


def test_what_was_undone_is_said_and_is_nothing_bad() -> None:
    found = found_in(compaction(9, summary="", undone=True))
    assert [each.is_bad for each in found] == [False, True]
