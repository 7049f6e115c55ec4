"""Print an audit in full: every compaction, branch summary and rewrite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from cli.output import counted, cut_line, print_line, printable, safe_line, thousands, wrapped
from cli.views.model import numbers
from cli.views.plot import plot
from cli.views.screen import print_gaps, print_overview
from cli.views.texts import dollars, fit_text, percent, restored_text, unexplained_text
from projections.audit.session import BranchSummaryAudit, CompactionAudit, RewriteAudit

if TYPE_CHECKING:
    from rich.console import Console

    from cli.views.model import AuditView, ReplacementView
    from projections.audit.cache import CacheEffect
    from projections.audit.conditions import FilesAudit
    from projections.audit.cost import Cost
    from projections.audit.measure import Size
    from projections.audit.metrics import Metrics, PersonNext
    from projections.audit.rework import Rework
    from projections.audit.session import Audit
    from projections.timeline import Timeline


def print_metrics(out: Console, metrics: Metrics) -> None:
    """Print all metrics of a replacement."""
    _print(out, "size", _size(metrics.size))
    if metrics.rework:
        _print(out, "done again", _rework(metrics.rework), _again(metrics.rework))
    if metrics.next:
        _print(out, "said next", _next(metrics.next))
    if metrics.cache:
        _print(out, "prompt cache", _cache(metrics.cache))
    if metrics.cost:
        _print(out, "cost", _cost(metrics.cost))


def _print(out: Console, name: str, facts: Iterable[str], details: Iterable[str] = ()) -> None:
    print_field(out, name, " · ".join(facts))
    for detail in details:
        print_field(out, "", detail, style="dim")


def _size(size: Size) -> Iterator[str]:
    yield f"{size.removed:,} of {size.before:,} tokens removed ({percent(size.removed_share)})"
    yield f"{size.added:,} added in their place ({percent(size.ratio)})"
    yield f"{size.kept:,} kept"
    if text := restored_text(size):
        yield text
    if size.returned:
        yield f"{size.returned:,} shown again"


def _rework(rework: Rework) -> Iterator[str]:
    if not rework.calls:
        yield "no later calls"
        return
    yield f"of {counted(rework.calls, 'later call')}, {len(rework.fetched):,} read a file again"
    if rework.fetched:
        yield f"{counted(rework.tokens, 'token')} that the context had held"
    if rework.failed:
        yield f"{len(rework.failed):,} failed again"


def _again(rework: Rework) -> Iterator[str]:
    for each in rework.fetched:
        size = counted(each.tokens, "token")
        yield f"read again at #{each.again.seq}: {each.file}, held since #{each.first.seq}, {size}"
    for failed in rework.failed:
        yield f"failed again at #{failed.again.seq} as at #{failed.first.seq}: {failed.tool} {failed.target}"


def _next(following: PersonNext) -> Iterator[str]:
    if not following.messages:
        yield "nothing"
        return
    yield f"{counted(len(following.messages), 'message')}: {numbers(following.messages)}"
    if following.refusals:
        yield f"{counted(len(following.refusals), 'refused call')}: {numbers(following.refusals)}"


def _cache(cache: CacheEffect) -> Iterator[str]:
    shared = f"{counted(cache.shared_messages, 'message')} ({counted(cache.shared_tokens, 'token')})"
    yield f"shares {shared} with the request before"
    yield f"{cache.rewritten_tokens:,} to be sent again"
    if cache.call is not None and cache.recorded_read is not None:
        yield (
            f"at {cache.call}: {thousands(cache.recorded_read)} read and "
            f"{thousands(cache.recorded_write)} written, as recorded"
        )


def _cost(cost: Cost) -> Iterator[str]:
    if cost.model is None:
        yield "no model in use"
        return
    if cost.summary is None and cost.saved is None and not cost.too_long:
        yield f"no price for {cost.model}"
        return
    estimate = ", an estimate" if cost.is_estimate else ""
    yield f"summary {dollars(cost.summary)}{estimate}"
    yield f"cache {dollars(cost.rewrite)}"
    if not cost.too_long:
        yield f"saved {dollars(cost.saved)} over {counted(cost.calls, 'later call')}"
        yield f"net {dollars(cost.net, is_signed=True)} by the prices of {cost.model}"
    if text := fit_text(cost):
        yield text


_BAR: Final = 40
_PLOT: Final = 100
"""Columns of the plot of sizes, at most."""


def print_full(out: Console, view: AuditView, sizes: Timeline | None = None) -> None:
    """Print a plot of sizes and every replacement, in log order within each kind."""
    print_overview(out, view.audit)
    print_gaps(out, view.audit.gaps)
    if sizes is not None and sizes.moments:
        out.print()
        _print_sizes(out, sizes)
    out.print()
    for kind in ("compaction", "branch_summary", "rewrite"):
        for each in view.replacements:
            if each.kind == kind:
                _replacement(out, each, view.audit)


def _print_sizes(out: Console, sizes: Timeline) -> None:
    marks = [index for index, each in enumerate(sizes.moments) if each.kind == "compaction"]
    values = [each.tokens for each in sizes.moments]
    for line in plot(values, marks=marks, width=min(out.width, _PLOT)):
        out.print(line, crop=False, no_wrap=True, overflow="ignore", highlight=False, markup=False)
    estimate = ", an estimate" if sizes.estimate else ""
    legend = f"tokens ({sizes.counter}{estimate}) after each entry" + ("; ∑ compaction" if marks else "")
    print_line(out, legend, style="dim")


def _replacement(out: Console, each: ReplacementView, audit: Audit) -> None:
    result = each.result
    headings = {
        "compaction": f"{each.name.capitalize()} of {len(audit.compactions)}",
        "branch_summary": "Branch summary",
        "rewrite": "Rewrite",
    }
    print_rule(out, headings[each.kind], result.id, result.seq, result.time, is_undone=each.is_undone)
    for remark in each.remarks:
        print_field(out, "!", remark.text, style="bold red")
    match result:
        case CompactionAudit(summary_tokens=summary_tokens):
            _of_compaction(out, result, is_estimate=audit.estimate)
        case BranchSummaryAudit():
            summary_tokens = each.metrics.size.added
            entries = counted(result.entries, "entry", "entries")
            left = result.left or "an entry that the log does not name"
            print_field(out, "left", f"{entries} up to {left}")
            print_field(out, "at", result.attached_to or "the root")
        case RewriteAudit(targets=targets):
            print_field(out, "reason", result.reason)
            named = f"{counted(len(targets), 'message')}: {', '.join(targets)}"
            print_field(out, "targets", named if targets else "none that is in the session")
            if result.tokens_saved is not None:
                print_field(out, "saved", f"{counted(result.tokens_saved, 'token')}, by its own count")
    if each.files is not None:
        _files(out, each.files)
    print_metrics(out, each.metrics)
    if not isinstance(result, RewriteAudit):
        estimate = ", an estimate" if audit.estimate else ""
        print_field(out, "summary", f"{counted(summary_tokens, 'token')} ({audit.counter}{estimate})")
        print_summary(out, result.summary)
    out.print()


def _of_compaction(out: Console, each: CompactionAudit, *, is_estimate: bool) -> None:
    by = [each.by.model or "no model", each.by.format]
    by += [
        f"{name} {value}" for name, value in (("reason", each.by.reason), ("policy", each.by.policy)) if value
    ]
    by += ["by an extension"] if each.by.from_extension else []
    print_field(out, "by", " · ".join(by))
    _tokens(out, each, "recomputed (estimate)" if is_estimate else "recomputed")
    counts = each.messages
    print_field(
        out,
        "messages",
        f"{counts.summarized:,} summarized · {counts.kept:,} kept"
        + (f" from {each.first_kept} on" if each.first_kept else "")
        + f" · {counts.uncovered:,} that no summary covers",
        style="bold red" if counts.uncovered else "",
    )
    if each.missing_sections:
        print_field(out, "sections", f"missing by its record: {', '.join(each.missing_sections)}")


def _tokens(out: Console, each: CompactionAudit, recomputed: str) -> None:
    before, after = each.before, each.after
    measured = f"{thousands(before.measured)} measured at {before.measured_at}" if before.measured_at else ""
    unexplained = "" if before.unexplained is None else unexplained_text(before.unexplained)
    facts = [
        f"{thousands(before.claimed)} claimed",
        measured,
        f"{before.recomputed:,} {recomputed}",
        unexplained,
    ]
    print_field(out, "before", " · ".join(filter(None, facts)))
    claimed = f"{after.claimed:,} claimed" if after.claimed is not None else ""
    sent = f"{thousands(after.measured)} sent at the next call, {after.measured_at}"
    facts = [claimed, f"{after.recomputed:,} {recomputed}", sent if after.measured_at else ""]
    print_field(out, "after", " · ".join(filter(None, facts)))
    print_field(out, "", _bar(each.metrics.size.before, each.metrics.size.after))


def _bar(before: int, after: int) -> str:
    filled = round(_BAR * after / before) if before else _BAR
    filled = min(max(filled, 1 if after else 0), _BAR)
    share = f"{after / before:.0%} left" if before else ""
    return "█" * filled + "░" * (_BAR - filled) + f" {share}"


def _files(out: Console, files: FilesAudit) -> None:
    log = f"{len(files.recomputed.read_files)} read, {len(files.recomputed.modified_files)} modified"
    if files.claimed is None:
        print_field(out, "files", f"no claim · {log} by the log")
        return
    claim = f"{len(files.claimed.read_files)} read, {len(files.claimed.modified_files)} modified claimed"
    agreement = "" if files.missing or files.unfounded else " · they agree"
    print_field(out, "files", f"{claim} · {log} by the log{agreement}")
    for name, paths in (("missing", files.missing), ("unfounded", files.unfounded)):
        for path in paths:
            print_field(out, "", f"{name}: {safe_line(path)}", style="red")


INDENT: Final = 16
_HANGING: Final = 3


def print_rule(
    out: Console, heading: str, event_id: str, seq: int, time: str | None, *, is_undone: bool = False
) -> None:
    """Print the heading above an event."""
    from rich.text import Text

    line = Text(f"── {heading} ", style="bold magenta")
    start = len(line)
    line.append(f"{safe_line(event_id)} #{seq}  {day_and_time(time)}", style="not bold dim")
    if is_undone:
        line.append("  undone", style="bold yellow")
    # Break the line before the event, not within its id or its time.
    if line.cell_len > out.width:
        head, rest = line.divide([start])
        head.rstrip()
        rest.pad_left(_HANGING)
        line = Text("\n").join([head, rest])
    out.print(line, crop=False, no_wrap=True, overflow="ignore")


def print_field(out: Console, name: str, value: str, *, style: str = "") -> None:
    """Print a name and a value; a long value continues below its beginning, a long word is cut."""
    from rich.text import Text

    room = max(out.width - INDENT, 20)
    words = (cut_line(word, room) for word in safe_line(value).split(" "))
    lines = wrapped(" ".join(words), room, hanging=0).split("\n")
    for number, value_line in enumerate(lines):
        line = Text(f"   {'' if number else name:<13}", style="dim")
        line.append(value_line, style=f"not dim {style}")
        out.print(line, crop=False, no_wrap=True, overflow="ignore")


def print_summary(out: Console, text: str) -> None:
    """Print the text of a summary, indented below the field values."""
    for line in wrapped(printable(text).strip(), max(out.width - INDENT, 20), hanging=0).splitlines():
        out.print(
            f"{' ' * INDENT}{line}".rstrip(), style="italic", crop=False, no_wrap=True, overflow="ignore"
        )


def day_and_time(time: str | None) -> str:
    """Format a time as UTC to the second; "-" if unknown."""
    return time[:19].replace("T", " ") if time else "-"
