from __future__ import annotations

from cli.views.model import audit_view
from tests.support.measured import audit, compaction, redone, ref, rewrite


def order(*replaced):
    return [each.seq for each in audit_view(audit(*replaced)).worst]


def test_most_messages_that_no_summary_covers_come_first():
    assert order(
        compaction(1, conditions=["larger", "no-gain", "quick"]),
        compaction(2, uncovered=[ref(1), ref(2)], conditions=["uncovered"]),
        compaction(3, uncovered=[ref(1), ref(2), ref(3)], conditions=["uncovered"]),
    ) == [3, 2, 1]


def test_then_come_those_with_most_conditions():
    assert order(
        compaction(1, conditions=["larger"], rework=redone("a.py")),
        compaction(2, conditions=["larger", "failed-again"], rework=redone()),
    ) == [2, 1]


def test_then_come_those_with_most_tokens_read_again():
    assert order(
        compaction(1, conditions=["fetched-again"], rework=redone("a.py")),
        compaction(2, conditions=["fetched-again"], rework=redone("a.py", "b.py")),
    ) == [2, 1]


def test_of_equals_the_older_comes_first():
    assert order(rewrite(7), compaction(3), rewrite(5)) == [3, 5, 7]
