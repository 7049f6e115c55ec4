"""Short views of audits on a terminal."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import structs
from rich.console import Console

from cli.views.model import SessionRow as Row
from cli.views.model import audit_view
from cli.views.screen import (
    REMARKS,
    ROWS,
    print_overview,
    print_screen,
    print_sessions,
)
from cli.views.texts import WINDOW_UNKNOWN
from projections.audit.cache import CacheHistory
from projections.audit.cost import SessionCost
from projections.audit.session import Audit, FailedCompaction
from tests.cli.views.printing import figures, printed
from tests.support.measured import (
    NO_COST,
    audit,
    branch_summary,
    compaction,
    followed,
    redone,
    ref,
    size,
    spent,
)


def test_a_session_is_shown_in_a_few_lines() -> None:
    seen = audit(compaction(1), branch_summary(2), branch_summary(3), cost=spent(9, 1.5, 1.25))
    session, title, *counts = printed(print_overview, seen)
    assert (session, title) == ("s", "A title")
    assert figures(*counts) == [["99", "1", "2", "0"], ["5", "1,234", "16", "4"], ["9", "$1.50", "$1.25"]]


def test_exact_counts_and_notes_of_counters_are_shown() -> None:
    exact = printed(print_overview, audit(counter="o200k", exact=True, estimate=False))[3]
    estimate = printed(print_overview, audit(counter="bytes/4", note="no vocabulary"))[3]
    assert ["estimate" in line for line in (exact, estimate)] == [False, True]
    assert [" o200k" in exact, " bytes/4" in estimate, estimate.endswith("no vocabulary")] == [True] * 3


def test_without_calls_there_is_no_cost() -> None:
    assert not [line for line in printed(print_overview, audit()) if "call" in line]


def test_calls_without_a_cost_are_counted() -> None:
    cost = spent(9, 1.0, 2.0, unrecorded=3, unpriced=1)
    assert figures(printed(print_overview, audit(cost=cost))[-1]) == [["9", "$1.00", "3", "$2.00", "1"]]


def test_a_recorded_cost_of_nothing_is_explained() -> None:
    line = printed(print_overview, audit(cost=spent(9, 0.0, 2.0)))[-1]
    assert "$0.00 as recorded, as with a subscription · $2.00" in line


def test_calls_without_any_cost_are_told() -> None:
    cost = spent(9, None, None, unrecorded=9, unpriced=9)
    assert printed(print_overview, audit(cost=cost))[-1] == "9 calls · no cost recorded · no price in a table"


def test_a_price_table_is_shown_with_its_date() -> None:
    cost = SessionCost(prices="mine.toml", prices_date="2026-01-01", spent=spent(1, 1.0, 1.0))
    assert printed(print_overview, structs.replace(audit(), cost=cost))[-1].endswith(
        " mine.toml of 2026-01-01"
    )


def test_a_title_is_one_line_as_long_as_the_terminal_is_wide() -> None:
    lines = printed(print_overview, audit(title="word\n" * 50), width=40)
    assert lines[1] == "word word word word word word word word…"


WORST = compaction(
    12,
    size=size(20_857, 1_682),
    rework=redone("limits.py", "app.py", again=20),
    next=followed(14, 19),
    conditions=["fetched-again", "failed-again"],
)
BETTER = branch_summary(20, next=followed(21))


def screen(out: Console, shown: Audit) -> None:
    print_screen(out, audit_view(shown))


def test_replacements_are_listed_the_worst_first() -> None:
    lines = printed(screen, audit(WORST, BETTER))
    head = next(number for number, line in enumerate(lines) if line.startswith("WORST FIRST"))
    rows = [re.split(r"  +", line) for line in lines[head + 1 : head + 3]]
    assert rows == [
        ["compaction 1", "#12", "2026-03-04 11:22", "20,857", "1,682", "200", "2", "-"],
        ["branch summary 1", "#20", "2026-03-04 11:22", "1,000", "100", "0", "1", "-"],
    ]


def test_a_context_that_is_elsewhere_has_no_size() -> None:
    (row,) = [line for line in printed(screen, audit(compaction(6, size=size(0, 90)))) if "#6" in line]
    assert re.split(r"  +", row)[3:5] == ["-", "90"]


def test_headings_say_which_sizes_are_estimates() -> None:
    for is_estimate, words in ((True, {"EST.", "TOKENS"}), (False, {"TOKENS"})):
        shown = structs.replace(audit(WORST), estimate=is_estimate)
        lines = printed(screen, shown, width=200)
        (head,) = (line for line in lines if line.startswith("WORST FIRST"))
        assert {"EST.", "TOKENS"} & set(head.split()) == words


def test_the_net_cost_has_its_column() -> None:
    cost = structs.replace(NO_COST, net=-0.5)
    assert any(line.endswith(" -$0.50") for line in printed(screen, audit(compaction(1, cost=cost))))


def test_of_a_saving_is_shown_if_the_longer_context_would_have_fitted() -> None:
    kept = structs.replace(NO_COST, calls=9, saved=1.5, net=1.0, window=200_000)
    too_long = structs.replace(NO_COST, calls=9, window=200_000, too_long=4)
    unknown = structs.replace(kept, window=None)
    lines = printed(screen, audit(compaction(1, cost=kept), compaction(2, cost=too_long)))
    (told,) = [line for line in lines if "window" in line]
    assert told.startswith("compaction 2: 4 of 9 later calls would not have fitted ")
    assert figures(told) == [["2", "4", "9", "200,000"]]
    lines = printed(screen, audit(compaction(1, cost=unknown), compaction(2, cost=unknown)))
    assert sum(WINDOW_UNKNOWN in line for line in lines) == 1


def test_on_a_terminal_of_80_columns_times_and_long_names_give_way() -> None:
    lines = printed(screen, audit(WORST, BETTER), width=80)
    rows = [re.split(r"  +", line) for line in lines]
    assert ["compaction 1", "#12", "20,857", "1,682", "200", "2", "-"] in rows
    assert ["branch 1", "#20", "1,000", "100", "0", "1", "-"] in rows


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    assert max(map(len, printed(screen, full_screen(), width=width))) <= width


def test_what_was_undone_has_a_mark() -> None:
    lines = printed(screen, audit(compaction(3, undone=True)))
    assert any(re.match("compaction 1 ↶ +#3 ", line) for line in lines)


def remarks(*replaced: Any) -> list[str]:
    return [line for line in printed(screen, audit(*replaced)) if line.startswith("!")]


def test_remarks_are_shown_with_the_replacement_that_they_are_about() -> None:
    assert remarks(compaction(3, size=size(10, 10), conditions=["no-gain"])) == [
        "! compaction 1: the context is hardly smaller, recomputed: 10 -> 10 tokens"
    ]


def test_that_no_condition_holds_is_said() -> None:
    said = [
        [line.strip() for line in printed(print_screen, audit_view(seen))].count("no condition holds")
        for seen in (audit(compaction(1)), audit(compaction(1, conditions=["no-gain"])), audit())
    ]
    assert said == [1, 0, 0]


def test_remarks_on_what_was_undone_are_not_told() -> None:
    assert remarks(compaction(3, undone=True, conditions=["no-gain"])) == []


def test_a_long_remark_goes_on_below_itself() -> None:
    files = [f"a_rather_long_name_{number}.py" for number in range(3)]
    shown = compaction(3, rework=redone(*files), conditions=["fetched-again"])
    lines = printed(screen, audit(shown), width=80)
    first = next(at for at, line in enumerate(lines) if line.startswith("!"))
    assert lines[first + 1].startswith("  ")


def test_what_nobody_judged_is_said() -> None:
    lines = printed(screen, audit(compaction(3, next=followed(4, 9, refusals=(9,)))))
    assert "not judged: 2 messages of yours follow, 1 refuses a call (#9)" in lines


def test_cache_writes_that_were_not_read_are_told() -> None:
    cache = CacheHistory(written=1500, unread=400)
    assert "1,500 tokens written to the cache, 400 of them not read by the next call" in printed(
        screen, audit(cache=cache)
    )


def test_sizes_name_who_counted_them() -> None:
    one = compaction(3, size=size(100, 30, restored=20))
    measured = structs.replace(
        one,
        before=structs.replace(one.before, measured=900),
        after=structs.replace(one.after, measured=300),
    )
    assert figures(*(each for each in printed(screen, audit(one)) if "sent again" in each)) == [["1", "20"]]
    by_provider = printed(screen, audit(measured))
    assert not [each for each in by_provider if "EST." in each]
    assert [each for each in by_provider if "as the provider counted" in each]


def full_screen() -> Audit:
    """A session with more of everything than there is room for."""
    files = [f"a_rather_long_name_of_a_file_{number}.py" for number in range(20)]
    many = [
        compaction(
            number,
            size=size(100_000, 200_000),
            rework=redone(*files, again=number + 1),
            next=followed(*range(6000, 6100), refusals=tuple(range(6000, 6050))),
            conditions=["larger", "fetched-again"],
        )
        for number in range(5001, 5031)
    ]
    return audit(*many, title="word " * 100)


def test_a_session_with_much_to_say_fits_one_screen() -> None:
    assert 24 <= len(printed(screen, full_screen(), width=80)) <= 40


def test_of_what_has_no_room_the_number_is_shown() -> None:
    lines = printed(screen, full_screen())
    left_out = [int(line.split()[1]) for line in lines if line.startswith("…")]
    assert left_out == [30 - ROWS, 30 * 2 - REMARKS]


def test_a_session_without_replacements_is_said_to_have_none() -> None:
    assert len(printed(screen, audit())[4:]) == 2


def failed(seq: int, error: str) -> FailedCompaction:
    return FailedCompaction(id=f"e{seq}", seq=seq, time=None, error=error)


def test_failed_compactions_are_counted_with_the_last_ones_event_and_error() -> None:
    tried = [failed(7, "overloaded"), failed(12, "no such model")]
    (line,) = set(printed(screen, audit(failed_compactions=tried))) - set(printed(screen, audit()))
    assert (line[0], "#12" in line, "no such model" in line, "overloaded" in line) == ("2", True, True, False)


def test_it_ends_with_how_to_see_more() -> None:
    lines = printed(screen, audit(WORST))[-3:-1]
    commands = [line.partition(": ")[2] for line in lines]
    assert commands == ["refold report s", "refold judge --dry-run s"]


def test_texts_of_a_session_command_no_terminal() -> None:
    evil = "\x1b[31mred\nforged"
    hostile = compaction(3, rework=redone(evil), conditions=["fetched-again"])
    tried = [failed(7, evil)]
    lines = printed(screen, audit(hostile, session=evil, title=evil, failed_compactions=tried))
    assert not [line for line in lines if "\x1b" in line or line.startswith("forged")]


def row(session: str, **fields: object) -> Row:
    given = {"title": "A title", "compactions": 1, "spent": spent(), **fields}
    return Row(session=session, **given)  # type: ignore[arg-type]


def listed(*rows: Row, width: int = 100) -> list[str]:
    return printed(lambda out: print_sessions(out, rows), width=width)


def test_a_row_sums_up_the_replacements() -> None:
    assert audit_view(
        audit(
            compaction(1, uncovered=[ref(1)], conditions=["uncovered"], next=followed(4, 5, refusals=(5,))),
            branch_summary(2, rework=redone("a.py", "b.py"), conditions=["fetched-again", "failed-again"]),
            cost=spent(9, 1.5, 1.25),
        )
    ).row == row("s", uncovered=1, remarks=3, fetched=200, messages=2, refusals=1, spent=spent(9, 1.5, 1.25))


def test_what_was_undone_does_not_count() -> None:
    undone = compaction(1, undone=True, rework=redone("a.py"), conditions=["fetched-again"])
    assert audit_view(audit(undone)).row == row("s")


def test_where_no_cost_was_recorded_the_price_table_tells_it() -> None:
    assert audit_view(audit(cost=spent(9, None, 1.25))).row.spent.cost == 1.25


@pytest.mark.parametrize("lacking", ["without_cost", "understated"])
def test_a_cost_that_lacks_calls_is_marked(lacking: str) -> None:
    (line,) = listed(row("s", spent=spent(9, 1.5, **{lacking: 2})))[1:]
    assert "$1.50+" in line


def test_a_row_is_small_however_long_a_title_is() -> None:
    assert len(audit_view(audit(title="word " * 100_000)).row.title) <= 60


def test_the_worst_sessions_come_first() -> None:
    rows = [row("none"), row("read", fetched=9), row("remarks", remarks=2), row("uncovered", uncovered=1)]
    assert [line.split("  ")[0] for line in listed(*rows)] == [
        "SESSION",
        "uncovered",
        "remarks",
        "read",
        "none",
    ]


def test_sessions_without_a_compaction_share_a_line() -> None:
    plain = {"compactions": 0}
    rows = [
        row("a", **plain),
        row("remarked", remarks=1, **plain),
        row("failed", failed=1, **plain),
        row("b", **plain),
    ]
    _, *lines, last = listed(*rows, row("compacted"))
    assert [line.split("  ")[0] for line in lines] == ["failed", "compacted", "remarked"]
    assert last == "2 sessions without a compaction"


def test_a_line_has_what_there_is_to_know() -> None:
    assert listed(row("s", remarks=2, fetched=300, messages=7, spent=spent(9, 1.5))) == [
        "SESSION  TIMES COMPACTED  REMARKS  READ AGAIN  SAID NEXT   COST  TITLE",
        "s                      1        2         300          7  $1.50  A title",
    ]


def test_uncovered_messages_have_a_column_of_their_own() -> None:
    head, *lines = listed(row("none"), row("uncovered", uncovered=1234), width=130)
    assert "UNCOVERED" in head
    assert figures(*lines)[0][1] == "1,234"


def test_failed_compactions_have_a_column_of_their_own_if_there_are_any() -> None:
    head, *lines = listed(
        audit_view(audit(failed_compactions=[failed(7, "overloaded")] * 3)).row, row("none")
    )
    assert "TIMES COMPACTED  FAILED  REMARKS" in head
    assert sorted(line.split()[2] for line in lines) == ["0", "3"]


def test_a_title_gives_way_on_a_narrow_terminal() -> None:
    line = listed(row("s", title="word " * 12), width=60)[-1]
    assert len(line) <= 60
    assert line.endswith("…")


def test_texts_in_a_row_command_no_terminal() -> None:
    evil = "\x1b[31mred\nforged"
    lines = listed(audit_view(audit(session=evil, title=evil)).row)
    assert not [line for line in lines if "\x1b" in line or line.startswith("forged")]


def test_what_a_narrow_terminal_has_no_room_for_is_left_out() -> None:
    rows = [
        row(
            "0199aaaa-0000-7000-8000-000000000001",
            remarks=2,
            fetched=300,
            messages=7,
            spent=spent(9, 1.5),
            title="word " * 12,
        )
    ]
    for width, cells in (
        (75, ["0199aaaa-0000", "1", "2", "300", "7", "$1.50", "word"]),
        (60, ["0199aaaa-0000", "2", "300", "7", "$1.50", "word"]),
        (50, ["0199aaaa-0000", "2", "300", "7", "word"]),
    ):
        lines = listed(*rows, width=width)
        assert lines[-1].split()[: len(cells)] == cells
        assert max(map(len, lines)) <= width
