"""Print a replay: a line for each variant, and the boundaries at which they differ most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import structs

from cli.output import counted, print_line, safe_line, short_paths, table, thousands
from cli.store import short_names
from cli.views.texts import percent
from compaction.replay import ReplayResult
from compaction.replay.comparison import VariantSummary
from compaction.replay.statistics import FEWEST_SESSIONS, Difference

if TYPE_CHECKING:
    from rich.console import Console

_WORST: Final = 5
"""The most boundaries to list below the table."""


def print_replay(out: Console, results: Sequence[ReplayResult], summaries: Sequence[VariantSummary]) -> None:
    """Print the table of variants, what it is about, and the worst cases."""
    variants = [each.variant for each in summaries]
    sessions = {each.boundary.session for each in results}
    needed = sum(each.boundary.needed_count for each in results)
    places = f"{counted(len(results), 'boundary', 'boundaries')} in {counted(len(sessions), 'session')}"
    if not results:
        print_line(
            out, "There is no place to compact: the sessions are too short, or were compacted at once."
        )
        return
    print_line(out, f"{places}; {counted(needed, 'thing')} needed behind them", style="bold")
    out.print()
    numbers = (
        "BOUNDARIES",
        "FAILED",
        "SIZE LEFT",
        "NEEDED AND KEPT",
        "KEPT",
        "ANSWERED",
        f"AGAINST {safe_line(variants[0])}",
    )
    listing = table("VARIANT", *numbers, right=numbers, drops=("FAILED",))
    for each in summaries:
        listing.add_row(
            safe_line(each.variant),
            thousands(each.trials),
            thousands(each.failed),
            percent(each.size),
            f"{each.kept_count:,}/{each.needed_count:,}",
            percent(each.kept_share),
            percent(each.answered_share),
            _points(each.difference),
        )
    out.print(listing, crop=False)
    if results[0].boundary.at == "recorded" and len(variants) > 1:
        _print_overlaps(out, summaries, variants[0])
    _print_worst(out, results, variants)
    for note in (*_failures(results, summaries), *notes_of(results, variants, len(sessions))):
        print_line(out, note, style="dim")


def _print_overlaps(out: Console, found: Sequence[VariantSummary], first: str) -> None:
    """Print how many of the needed things each variant kept that the first one did or did not keep."""
    numbers = ("BOTH", f"ONLY {safe_line(first)}", "ONLY THE VARIANT", "NEITHER")
    listing = table("NEEDED AND KEPT BY", *numbers, right=numbers)
    for each in found:
        if each.overlap is not None:
            counts = structs.astuple(each.overlap)
            listing.add_row(safe_line(each.variant), *map(thousands, counts))
    out.print()
    out.print(listing, crop=False)


def _points(difference: Difference | None) -> str:
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
    listing = table(
        "WORST FIRST", "SESSION", "EVENT", f"ONLY {safe_line(first)} KEEPS", "SUCH AS", shrinks="SUCH AS"
    )
    for count, each, name, missing in lost[:_WORST]:
        names = ", ".join(
            safe_line(short_paths(value)) for value in sorted(value for _, value in missing)[:3]
        )
        session = safe_line(short[each.boundary.session])
        listing.add_row(safe_line(name), session, f"#{each.boundary.seq}", thousands(count), names)
    out.print(listing, crop=False)


def _failures(results: Sequence[ReplayResult], summaries: Sequence[VariantSummary]) -> Iterator[str]:
    """Yield the most frequent reason for which each variant had no result."""
    for each in summaries:
        errors = Counter(
            trial.error
            for result in results
            for trial in result.trials
            if trial.variant == each.variant and trial.error
        )
        for error, count in errors.most_common(1):
            places = f"at {thousands(count)} of " if len(errors) > 1 else "at "
            yield (
                f"{safe_line(each.variant)} has no result {places}"
                f"{counted(each.failed, 'boundary', 'boundaries')}: {safe_line(error)}"
            )


def notes_of(results: Sequence[ReplayResult], variants: Sequence[str], sessions: int) -> list[str]:
    """Return what a reader has to know about the figures."""
    notes = [
        "extractive summaries list names by the rules that also find what was needed: they are flattered"
    ]
    if len(variants) > 1 and sessions < FEWEST_SESSIONS:
        notes.append(f"no intervals: they need {FEWEST_SESSIONS} sessions or more")
    if any(each.boundary.at == "recorded" for each in results):
        notes.append("what followed was written under the recorded summary, which favours it")
    return notes
