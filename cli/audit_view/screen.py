"""An audit on one screen: all replacements, the worst first, and what was lost by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.audit_view.glance import print_glance
from cli.audit_view.lines import dollars, part_of, percent, print_line
from cli.audit_view.remarks import remarks
from cli.output import counted, one_line, pasted, table, thousands
from cli.replaced import came_with_compaction, grew, names, replacements, undone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cli.replaced import Replaced
    from projections.audit import Audit

ROWS: Final = 8
REMARKS: Final = 4
LOSSES: Final = 5
GONE: Final = 3
"""How many of each there is room for; of the others, their number is told."""

_WIDE: Final = 100
"""Columns from which there is room for times and long names."""
_DROPS: Final = ("WHEN", "AGAIN", "BEFORE", "AT", "RECALL")
"""Columns that a narrow terminal has no room for, the first to go first."""
_VALUE: Final = 60
_LEGEND: Final = (
    "NEEDED still there / needed later · RECALL of what was removed, named after",
    "RULES instructions kept / given · AGAIN calls repeated · NET dollars saved",
)


def print_screen(out: Console, audit: Audit) -> None:
    """One session: at a glance, what its replacements kept and lost, and how to see more."""
    from projections.metrics.order import worst_first

    print_glance(out, audit)
    worst = worst_first(replacements(audit))
    if not worst:
        print_line(out, "Nothing of the context was replaced.")
        out.print()
        return
    called = names(audit)
    out.print()
    out.print(_table(worst[:ROWS], called, undone(audit), is_wide=out.width >= _WIDE), crop=False)
    _print_rest(out, len(worst) - ROWS, "replacement")
    for line in _LEGEND:
        print_line(out, line, style="dim")
    _print_remarks(out, worst, called)
    _print_losses(out, worst[0], called)
    _print_gone(out, [each for each in worst if not came_with_compaction(each)], called)
    for what, command in (("all of each", "audit --full"), ("on a page", "report")):
        # A line end within a command would be pasted, too.
        out.print(f"{what}: {pasted(command, audit.session)}", style="dim", soft_wrap=True)
    out.print()


def _table(
    worst: Sequence[Replaced], called: dict[int, str], without_effect: set[int], *, is_wide: bool
) -> Table:
    from rich.text import Text

    numbers = ("BEFORE", "AFTER", "NEEDED", "RECALL", "RULES", "AGAIN", "NET")
    times = ("WHEN",) if is_wide else ()
    listing = table("WORST FIRST", "AT", *times, *numbers, right=("AT", *numbers), drops=_DROPS)
    for each in worst:
        metrics = each.metrics
        use, rules = metrics.future_use, metrics.instructions
        is_undone = each.seq in without_effect
        name = called[each.seq] + (" ↶" if is_undone else "")
        listing.add_row(
            Text(name if is_wide else name.replace("branch summary", "branch")),
            f"#{each.seq}",
            *([(each.time or "-")[:16].replace("T", " ")] if is_wide else []),
            thousands(metrics.size.before),
            Text(thousands(metrics.size.after), style="bold red" if grew(each) else ""),
            Text(part_of(use.found, use.total), style="bold red" if use.losses else ""),
            percent(metrics.recall.share),
            Text(part_of(rules.total - rules.gone, rules.total), style="bold red" if rules.gone else ""),
            thousands(metrics.regret.repeated),
            dollars(metrics.cost.net, is_signed=True),
            style="dim" if is_undone else "",
        )
    return listing


def _print_remarks(out: Console, worst: Sequence[Replaced], called: dict[int, str]) -> None:
    found = [f"! {called[each.seq]}: {remark}" for each in worst for remark in remarks(each)]
    for line in found[:REMARKS]:
        print_line(out, one_line(line, out.width), style="bold red")
    _print_rest(out, len(found) - REMARKS, "remark")


def _print_losses(out: Console, replaced: Replaced, called: dict[int, str]) -> None:
    use = replaced.metrics.future_use
    if not use.losses:
        return
    from cli.listing import CutLine

    out.print()
    lost = counted(len(use.losses), "thing")
    line = f"{called[replaced.seq]} lost {lost} needed later, {use.never_regained:,} never given back:"
    print_line(out, line, style="bold")
    listing = table("KIND", "LOST", "HAD", "NEEDED", "REGAINED", shrinks="LOST")
    for loss in use.losses[:LOSSES]:
        value = CutLine(one_line(loss.value, _VALUE))
        regained = f"#{loss.regained_seq}" if loss.regained_seq else "never"
        listing.add_row(loss.kind, value, f"#{loss.had_seq}", f"#{loss.needed_seq}", regained)
    out.print(listing, crop=False)
    _print_rest(out, len(use.losses) - LOSSES, "loss", "losses")


def _print_gone(out: Console, worst: Sequence[Replaced], called: dict[int, str]) -> None:
    found = list(_gone(worst, called, out.width))
    if not found:
        return
    out.print()
    print_line(out, f"{counted(len(found), 'instruction')} gone:", style="bold")
    for line in found[:GONE]:
        out.print(line, crop=False, no_wrap=True, overflow="ignore")
    _print_rest(out, len(found) - GONE, "instruction")


def _gone(worst: Sequence[Replaced], called: dict[int, str], width: int) -> Iterator[Text]:
    from rich.text import Text

    for each in worst:
        for fate in each.metrics.instructions.sentences:
            if fate.fate == "gone":
                line = Text(f"{f'#{fate.seq}':<6}")
                after = Text(f"  {called[each.seq]}", style="dim")
                room = min(width, _WIDE) - line.cell_len - after.cell_len
                line.append(one_line(fate.sentence, max(room, 20)))
                yield line + after


def _print_rest(out: Console, count: int, one: str, many: str = "") -> None:
    if count > 0:
        print_line(out, f"… {counted(count, 'more ' + one, 'more ' + (many or one + 's'))}", style="dim")
