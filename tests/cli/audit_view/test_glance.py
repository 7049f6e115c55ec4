from __future__ import annotations

from msgspec import structs

from cli.views.screen import print_glance
from projections.audit.cost import SessionCost
from tests.cli.audit_view.printing import figures, printed
from tests.support.measured import audit, branch_summary, compaction, spent


def test_a_session_is_told_in_a_few_lines() -> None:
    seen = audit(compaction(1), branch_summary(2), branch_summary(3), cost=spent(9, 1.5, 1.25))
    session, title, *counts = printed(print_glance, seen)
    assert (session, title) == ("s", "A title")
    assert figures(*counts) == [["99", "1", "2", "0"], ["5", "1,234", "16", "4"], ["9", "$1.50", "$1.25"]]


def test_exact_counts_and_notes_of_counters_are_told() -> None:
    exact = printed(print_glance, audit(counter="o200k", exact=True, estimate=False))[3]
    estimate = printed(print_glance, audit(counter="bytes/4", note="no vocabulary"))[3]
    assert ["estimate" in line for line in (exact, estimate)] == [False, True]
    assert [" o200k" in exact, " bytes/4" in estimate, estimate.endswith("no vocabulary")] == [True] * 3


def test_without_calls_there_is_no_cost() -> None:
    assert not [line for line in printed(print_glance, audit()) if "call" in line]


def test_calls_without_a_cost_are_counted() -> None:
    cost = spent(9, 1.0, 2.0, unrecorded=3, unpriced=1)
    assert figures(printed(print_glance, audit(cost=cost))[-1]) == [["9", "$1.00", "3", "$2.00", "1"]]


def test_where_no_call_has_a_cost_it_is_said() -> None:
    cost = spent(9, None, None, unrecorded=9, unpriced=9)
    assert printed(print_glance, audit(cost=cost))[-1] == "9 calls · no cost recorded · no price in a table"


def test_a_price_table_is_told_with_its_date() -> None:
    cost = SessionCost(prices="mine.toml", prices_date="2026-01-01", spent=spent(1, 1.0, 1.0), models=[])
    assert printed(print_glance, structs.replace(audit(), cost=cost))[-1].endswith(" mine.toml of 2026-01-01")


def test_a_title_is_one_line_as_long_as_the_terminal_is_wide() -> None:
    lines = printed(print_glance, audit(title="word\n" * 50), width=40)
    assert lines[1] == "word word word word word word word word…"
