"""Print a replay: a line for each variant, and the boundaries at which they differ most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import structs

from cli.output import command_line, counted, print_line, safe_line, short_paths, table, thousands
from cli.store import short_names
from cli.views.texts import percent
from compaction.replay.comparison import BoundaryFigures, VariantSummary
from compaction.replay.results import ReplayedBoundary, ReplayResult
from compaction.replay.statistics import FEWEST_SESSIONS, Difference

if TYPE_CHECKING:
    from rich.console import Console

LISTED: Final = 5
"""The most worst cases to list below the table."""
_NONE_RECORDED: Final = "The sessions were never compacted: leave out --at recorded."
_NONE_CLEAN: Final = "There is no place to compact: the sessions are too short, or were compacted too early."
_LONGEST_HEADING: Final = 20
"""The most characters of a variant's name in a heading; names of models are longer."""


def session_line(session: str, boundaries: int, summaries: Sequence[VariantSummary]) -> str:
    """Return the result of a session in one line: what each variant kept of what was needed."""
    shares = (f"{safe_line(each.variant)} {percent(each.kept_share)}" for each in summaries)
    places = counted(boundaries, "boundary", "boundaries")
    return f"{safe_line(session)}: {places}; kept: {', '.join(shares)}"


def print_replay(
    out: Console,
    results: Sequence[BoundaryFigures],
    worst: Sequence[ReplayResult],
    summaries: Sequence[VariantSummary],
    *,
    is_recorded: bool,
    is_extractive: bool,
) -> None:
    """Print the table of variants, the counts above it, and the worst cases below.

    `is_recorded`: the boundaries are recorded ones. `is_extractive`: the summaries of a variant are extracted, without
    a model.
    """
    variants = [each.variant for each in summaries]
    sessions = {each.boundary.session for each in results}
    needed = sum(each.boundary.needed_count for each in results)
    if not results:
        print_line(out, _NONE_RECORDED if is_recorded else _NONE_CLEAN)
        return
    at = results[0].boundary.at
    places = counted(len(results), f"{at} boundary", f"{at} boundaries")
    where = ", chosen in stretches that were never compacted" if at == "clean" else ""
    heading = f"{places} in {counted(len(sessions), 'session')}{where}; {counted(needed, 'thing')} needed after them"
    print_line(out, heading, style="bold")
    out.print()
    numbers = (
        "BOUNDARIES",
        "FAILED",
        "SIZE LEFT",
        "NEEDED AND KEPT",
        "KEPT",
        "ANSWERED",
        f"AGAINST {_heading(variants[0])}",
    )
    listing = table("VARIANT", *numbers, right=numbers, drops=("FAILED", "BOUNDARIES"))
    for each in summaries:
        listing.add_row(
            safe_line(each.variant),
            thousands(each.trials),
            thousands(each.failed),
            percent(each.size),
            f"{each.kept_count:,}/{each.needed_count:,}",
            percent(each.kept_share),
            percent(each.answered_share),
            difference_text(each.difference),
        )
    out.print(listing, crop=False)
    for note in failures_of(results, summaries):
        print_line(out, note, style="dim")
    if at == "recorded" and len(variants) > 1:
        _print_overlaps(out, summaries, variants[0])
    if any(each.trials for each in summaries):
        _print_worst(out, worst, variants)
    for note in notes_of(results, summaries, len(sessions), is_extractive=is_extractive):
        print_line(out, note, style="dim")


def _heading(first: str) -> str:
    """Return the first variant's name, unless it would make a column too wide."""
    return safe_line(first) if len(first) <= _LONGEST_HEADING else "the first"


def _print_overlaps(out: Console, found: Sequence[VariantSummary], first: str) -> None:
    """Print which of the needed things each variant, the first one, both or neither kept."""
    numbers = ("BOTH", f"ONLY {_heading(first)}", "ONLY THE VARIANT", "NEITHER")
    listing = table("NEEDED AND KEPT BY", *numbers, right=numbers)
    for each in found:
        if each.overlap is not None:
            counts = structs.astuple(each.overlap)
            listing.add_row(safe_line(each.variant), *map(thousands, counts))
    out.print()
    out.print(listing, crop=False)


def difference_text(difference: Difference | None) -> str:
    """Return a paired difference in percentage points, with its interval if it has one."""
    if difference is None:
        return "-"
    mean = f"{100 * difference.mean:+.1f}"
    if difference.low is None or difference.high is None:
        return mean
    return f"{mean} ({100 * difference.low:+.1f} to {100 * difference.high:+.1f})"


def _print_worst(out: Console, results: Sequence[ReplayResult], variants: Sequence[str]) -> None:
    """Print where a variant kept the least against the first one."""
    first = variants[0]
    lost = [
        (len(missing), each, name, missing)
        for each in results
        for name in variants[1:]
        if first in each.kept.by_variant
        and name in each.kept.by_variant
        and (missing := each.kept.by_variant[first] - each.kept.by_variant[name])
    ]
    lost.sort(key=lambda found: (-found[0], found[1].boundary.session, found[1].boundary.seq, found[2]))
    if not lost:
        return
    short = short_names(sorted({each.boundary.session for each in results}))
    out.print()
    listing = table("WORST FIRST", "AT", f"ONLY {_heading(first)} KEEPS", "SUCH AS", shrinks="SUCH AS")
    for count, each, name, missing in lost[:LISTED]:
        names = ", ".join(
            safe_line(short_paths(value)) for value in sorted(value for _, value in missing)[:3]
        )
        place = f"{safe_line(short[each.boundary.session])}#{each.boundary.seq}"
        listing.add_row(safe_line(name), place, thousands(count), names)
    out.print(listing, crop=False)
    print_line(
        out, f"to try again at the first: {command_line(*fork_arguments(lost[0][1].boundary))}", style="dim"
    )


def fork_arguments(boundary: ReplayedBoundary) -> tuple[str, str]:
    """Return the command, and its session, that forks at a boundary to compact differently."""
    return f"fork --leaf '#{boundary.seq}' --as trial", boundary.session


def failures_of(results: Sequence[BoundaryFigures], summaries: Sequence[VariantSummary]) -> Iterator[str]:
    """Yield why rows count fewer boundaries than there are: the variants' most frequent errors."""
    rows = next((each for each in summaries if each.trials), None)
    if rows is not None and rows.trials < len(results):
        yield (
            f"rows count the {thousands(rows.trials)} of {counted(len(results), 'boundary', 'boundaries')}"
            f" at which every variant has a result: {counted(rows.needed_count, 'thing')}"
        )
    elif rows is None and any(each.failed < len(results) for each in summaries):
        yield "there is nothing to compare: at no boundary does every variant have a result; name fewer variants"
    for each in summaries:
        errors = Counter(
            trial.error
            for result in results
            for trial in result.trials
            if trial.variant == each.variant and trial.error
        )
        for error, count in errors.most_common(1):
            places = counted(each.failed, "boundary", "boundaries")
            most = f"; at {thousands(count)} of them" if len(errors) > 1 else ""
            yield f"{safe_line(each.variant)} has no result at {places}{most}: {safe_line(error)}"


def notes_of(
    results: Sequence[BoundaryFigures],
    summaries: Sequence[VariantSummary],
    sessions: int,
    *,
    is_extractive: bool,
) -> list[str]:
    """Return notes on how to read the figures."""
    notes = (
        ["extractive summaries are flattered: they choose names by the same rules that find what was needed"]
        if is_extractive
        else []
    )
    is_recorded = any(each.boundary.at == "recorded" for each in results)
    sizes = [each.size for each in summaries if each.size is not None]
    # Sizes cannot be matched with summaries by models.
    if is_recorded and is_extractive and sizes and min(sizes) < max(sizes) / 2:
        notes.append("larger contexts keep more: compare variants at one size with --match-size")
    if len(summaries) > 1 and sessions < FEWEST_SESSIONS:
        notes.append(f"no intervals: they need {FEWEST_SESSIONS} sessions or more")
    if is_recorded:
        notes.append("what followed was written under the recorded summary, which favours it")
    return notes
