from __future__ import annotations

from typing import Any

from rich.console import Console

from cli.views.model import SessionRow as Row
from cli.views.model import audit_view
from cli.views.screen import generations_line, sessions_table
from tests.cli.audit_view.printing import printed
from tests.support.measured import (
    audit,
    branch_summary,
    compaction,
    future_use,
    gone,
    instructions,
    loss,
    rewrite,
    spent,
)


def row(
    session: str, future_use: float | None = None, losses: int = 0, gone: int = 0, **fields: object
) -> Row:
    given = {"title": "A title", "compactions": 1, "cost": None, **fields}
    return Row(session=session, future_use=future_use, losses=losses, gone=gone, **given)  # type: ignore[arg-type]


def listed(*rows: Row, width: int = 100) -> list[str]:
    def view(out: Console) -> None:
        out.print(sessions_table(rows), crop=False)

    return printed(view, width=width)


def test_a_row_has_the_worst_share_and_the_sums_of_what_was_lost() -> None:
    assert audit_view(
        audit(
            compaction(1, future_use=future_use(1, 2, loss("a"))),
            branch_summary(2, future_use=future_use(1, 4, loss("a"), loss("b"), loss("c"))),
            rewrite(3, instructions=instructions(3, gone("Never."), gone("Always."))),
            cost=spent(9, 1.5, 1.25),
        )
    ).row == row("s", 0.25, 4, 2, cost=1.5)


def test_what_was_undone_does_not_count() -> None:
    undone = compaction(1, undone=True, future_use=future_use(0, 2, loss("a")))
    assert audit_view(audit(undone)).row == row("s")


def test_what_a_rewrite_lost_that_came_with_a_compaction_counts_once() -> None:
    lost: dict[str, Any] = {
        "future_use": future_use(1, 2, loss("a")),
        "instructions": instructions(1, gone("Never.")),
    }
    together = audit(compaction(1, **lost), rewrite(2, compaction="c1", **lost))
    assert audit_view(together).row == row("s", 0.5, 1, 1)
    assert audit_view(audit(compaction(1, **lost), rewrite(2, **lost))).row == row("s", 0.5, 2, 2)


def test_a_later_generation_of_a_session_is_told_below_the_table() -> None:
    assert generations_line([row("s"), row("t")]) == []
    (line,) = generations_line([row("s"), row("s~2", earlier="s")])
    assert line.startswith("1 ")


def test_where_no_cost_was_recorded_the_price_table_tells_it() -> None:
    assert audit_view(audit(cost=spent(9, None, 1.25))).row.cost == 1.25


def test_a_row_is_small_however_long_a_title_is() -> None:
    assert len(audit_view(audit(title="word " * 100_000)).row.title) <= 60


def test_the_worst_sessions_come_first_and_those_without_losses_last() -> None:
    rows = [
        row("none"),
        row("half", 0.5),
        row("more lost", 0.25, losses=3),
        row("less lost", 0.25, losses=2, gone=9),
        row("equal", 0.5),
    ]
    assert [line.split("  ")[0] for line in listed(*rows)] == [
        "SESSION",
        "more lost",
        "less lost",
        "equal",
        "half",
        "none",
    ]


def test_a_line_has_what_there_is_to_know() -> None:
    assert listed(row("s", 0.25, 4, 2, cost=1.5)) == [
        "SESSION  COMPACTED  NEEDED  LOST  GONE   COST  TITLE",
        "s                1     25%     4     2  $1.50  A title",
    ]


def test_a_title_gives_way_on_a_narrow_terminal() -> None:
    line = listed(row("s", title="word " * 12), width=60)[1]
    assert len(line) <= 60
    assert line.endswith("…")


def test_texts_of_a_session_command_no_terminal() -> None:
    evil = "\x1b[31mred\nforged"
    lines = listed(audit_view(audit(session=evil, title=evil)).row)
    assert not [line for line in lines if "\x1b" in line or line.startswith("forged")]


def test_what_a_narrow_terminal_has_no_room_for_is_left_out() -> None:
    rows = [row("0199aaaa-0000-7000-8000-000000000001", 0.25, 4, 2, cost=1.5, title="word " * 12)]
    lines = listed(*rows, width=56)
    assert lines[0] == "SESSION        NEEDED  LOST  GONE   COST  TITLE"
    assert max(map(len, lines)) <= 56
