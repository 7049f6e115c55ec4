from __future__ import annotations

from msgspec import structs

from cli.audit_view.glance import print_glance
from projections.metrics.session_cost import SessionCost
from tests.cli.audit_view.printing import printed
from tests.support.measured import audit, branch_summary, compaction, spent


def test_a_session_is_told_in_a_few_lines() -> None:
    seen = audit(compaction(1), branch_summary(2), branch_summary(3), cost=spent(9, 1.5, 1.25))
    assert printed(print_glance, seen) == [
        "s",
        "A title",
        "99 entries · 1 compaction · 2 branch summaries · 0 rewrites",
        "context now 5 messages, 1,234 tokens by utf16/4, an estimate",
        "9 calls · $1.50 as recorded · $1.25 by a table",
    ]


def test_exact_counts_and_notes_of_counters_are_told() -> None:
    assert "context now 5 messages, 1,234 tokens by o200k, exact" in printed(
        print_glance, audit(counter="o200k", exact=True)
    )
    assert "context now 5 messages, 1,234 tokens by bytes/4, an estimate; no vocabulary" in printed(
        print_glance, audit(counter="bytes/4", note="no vocabulary")
    )


def test_without_calls_there_is_no_cost() -> None:
    assert not [line for line in printed(print_glance, audit()) if "call" in line]


def test_calls_without_a_cost_are_counted() -> None:
    cost = spent(9, 1.0, 2.0, unrecorded=3, unpriced=1)
    assert printed(print_glance, audit(cost=cost))[-1] == (
        "9 calls · $1.00 as recorded, 3 without · $2.00 by a table, 1 without"
    )


def test_where_no_call_has_a_cost_it_is_said() -> None:
    cost = spent(9, None, None, unrecorded=9, unpriced=9)
    assert printed(print_glance, audit(cost=cost))[-1] == "9 calls · no cost recorded · no price in a table"


def test_a_price_table_is_told_with_its_date() -> None:
    cost = SessionCost(prices="mine.toml", prices_date="2026-01-01", spent=spent(1, 1.0, 1.0), models=[])
    assert printed(print_glance, structs.replace(audit(), cost=cost))[-1].endswith(
        "by mine.toml of 2026-01-01"
    )


def test_a_title_is_one_line_as_long_as_the_terminal_is_wide() -> None:
    lines = printed(print_glance, audit(title="word\n" * 50), width=40)
    assert lines[1] == "word word word word word word word word…"
