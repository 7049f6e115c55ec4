from __future__ import annotations

from cli.views.model import audit_view
from tests.support.measured import audit, branch_summary, compaction, rewrite

REPLACEMENTS = audit_view(
    audit(compaction(2), compaction(8, undone=True), branch_summary(5), rewrite(3, undone=True), rewrite(9))
).replacements


def test_replacements_of_every_kind_are_in_order_of_the_log() -> None:
    assert [each.seq for each in REPLACEMENTS] == [2, 3, 5, 8, 9]


def test_a_replacement_is_called_by_its_kind_and_its_number_among_that_kind() -> None:
    assert {each.seq: each.name for each in REPLACEMENTS} == {
        2: "compaction 1",
        8: "compaction 2",
        5: "branch summary 1",
        3: "rewrite 1",
        9: "rewrite 2",
    }


def test_compactions_and_rewrites_may_be_undone() -> None:
    assert {each.seq for each in REPLACEMENTS if each.is_undone} == {3, 8}
