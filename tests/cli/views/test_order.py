from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.views.model import audit_view
from projections.audit.metrics import rank
from projections.audit.session import Counts
from tests.support.measured import audit, compaction, finding, future_use, loss, rewrite

shares = st.none() | st.floats(0, 1)
ranks = st.tuples(st.just(0), st.just(0), st.just(0), shares, st.integers(0, 9))


def order(*replaced):
    return [each.seq for each in audit_view(audit(*replaced)).worst]


def test_where_most_messages_were_dropped_comes_first_even_if_nothing_was_needed_later():
    assert order(
        compaction(1, future_use=future_use(0, 10, loss("a"))),
        compaction(2, messages=Counts(summarized=1, kept=0, dropped=2)),
        compaction(3, messages=Counts(summarized=1, kept=0, dropped=3)),
    ) == [3, 2, 1]


def test_a_serious_finding_comes_before_any_number_of_minor_ones():
    assert order(
        compaction(1, findings=[finding(), finding(), finding()]),
        compaction(2, findings=[finding("serious")]),
        compaction(3, findings=[finding()], future_use=future_use(0, 10, loss("a"))),
    ) == [2, 1, 3]


def test_without_findings_the_smallest_share_of_future_use_comes_first():
    assert order(
        compaction(1, future_use=future_use(9, 10)),
        compaction(2, future_use=future_use(1, 10)),
        rewrite(3, future_use=future_use(5, 10)),
    ) == [2, 3, 1]


def test_where_nothing_was_needed_later_comes_last_even_behind_where_nothing_was_lost():
    assert order(
        compaction(1),
        compaction(2, future_use=future_use(10, 10)),
    ) == [2, 1]


def test_of_equal_shares_the_one_with_more_losses_comes_first():
    assert order(
        compaction(1, future_use=future_use(1, 2, loss("a"))),
        compaction(2, future_use=future_use(2, 4, loss("a"), loss("b"))),
    ) == [2, 1]


def test_of_equals_the_older_comes_first():
    assert order(rewrite(7), compaction(3), rewrite(5)) == [3, 5, 7]


@given(ranks, ranks)
def test_with_a_share_comes_before_without(one, other):
    if one[3] is not None and other[3] is None:
        assert rank(*one) < rank(*other)
