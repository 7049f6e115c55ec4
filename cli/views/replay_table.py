"""Print a replay: a line for each variant, and the boundaries at which they differ most."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from cli.output import counted, print_line, safe_line, table, thousands
from cli.store import short_names
from cli.views.texts import percent
from compaction.replay import ReplayResult, Trial
from compaction.replay.statistics import FEWEST_SESSIONS, Difference, paired_difference

if TYPE_CHECKING:
    from rich.console import Console

_WORST: Final = 5
"""The most boundaries to list below the table."""


class Overlap(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Needed things by which of two contexts names them, the first variant's and another's."""

    both: int
    first_only: int
    variant_only: int
    neither: int


class VariantSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A variant over all boundaries at which it had a result.

    `size` is the mean share of the tokens that it left, `kept_share` the share of all needed things that its contexts
    name. `difference` is the paired difference of kept shares from the first variant, and `overlap` compares the
    things that both kept; None for the first variant itself.
    """

    variant: str
    trials: int
    failed: int
    size: float | None
    needed_count: int
    kept_count: int
    kept_share: float | None
    difference: Difference | None
    overlap: Overlap | None


def summaries(results: Sequence[ReplayResult], variants: Sequence[str]) -> list[VariantSummary]:
    """Return a line for each variant, in the given order."""
    return [_summary(results, name, variants[0]) for name in variants]


def _summary(results: Sequence[ReplayResult], name: str, first: str) -> VariantSummary:
    done = [(each, trial) for each in results if (trial := _trial(each, name)).error is None]
    needed = sum(each.boundary.needed_count for each, _ in done)
    kept = sum(trial.kept_count or 0 for _, trial in done)
    sizes = [
        trial.tokens_after / trial.tokens_before
        for _, trial in done
        if trial.tokens_before and trial.tokens_after is not None
    ]
    return VariantSummary(
        variant=name,
        trials=len(done),
        failed=len(results) - len(done),
        size=fmean(sizes) if sizes else None,
        needed_count=needed,
        kept_count=kept,
        kept_share=kept / needed if needed else None,
        difference=None if name == first else paired_difference(_differences(results, name, first)),
        overlap=None if name == first else _overlap(results, name, first),
    )


def _overlap(results: Sequence[ReplayResult], name: str, first: str) -> Overlap:
    kept = [each.kept for each in results if {name, first} <= each.kept.by_variant.keys()]
    pairs = [(each.by_variant[first], each.by_variant[name], each.needed) for each in kept]
    return Overlap(
        both=sum(len(one & other) for one, other, _ in pairs),
        first_only=sum(len(one - other) for one, other, _ in pairs),
        variant_only=sum(len(other - one) for one, other, _ in pairs),
        neither=sum(len(needed - one - other) for one, other, needed in pairs),
    )


def _differences(results: Sequence[ReplayResult], name: str, first: str) -> dict[str, list[float]]:
    """Return the differences of kept shares at boundaries where both variants have a result, by session."""
    by_session = defaultdict[str, list[float]](list)
    for each in results:
        one, other = _trial(each, name).kept_count, _trial(each, first).kept_count
        if one is not None and other is not None and each.boundary.needed_count:
            by_session[each.boundary.session].append((one - other) / each.boundary.needed_count)
    return by_session


def _trial(result: ReplayResult, name: str) -> Trial:
    return next(trial for trial in result.trials if trial.variant == name)


def print_replay(out: Console, results: Sequence[ReplayResult], variants: Sequence[str]) -> None:
    """Print the table of variants, what it is about, and the worst cases."""
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
        f"AGAINST {safe_line(variants[0])}",
    )
    listing = table("VARIANT", *numbers, right=numbers, drops=("FAILED",))
    found = summaries(results, variants)
    for each in found:
        listing.add_row(
            safe_line(each.variant),
            thousands(each.trials),
            thousands(each.failed),
            percent(each.size),
            f"{each.kept_count:,}/{each.needed_count:,}",
            percent(each.kept_share),
            _points(each.difference),
        )
    out.print(listing, crop=False)
    if results[0].boundary.at == "recorded" and len(variants) > 1:
        _print_overlaps(out, found, variants[0])
    _print_worst(out, results, variants)
    for note in _notes(results, variants, len(sessions)):
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
        names = ", ".join(sorted(value for _, value in missing)[:3])
        session = safe_line(short[each.boundary.session])
        listing.add_row(safe_line(name), session, f"#{each.boundary.seq}", thousands(count), safe_line(names))
    out.print(listing, crop=False)


def _notes(results: Sequence[ReplayResult], variants: Sequence[str], sessions: int) -> list[str]:
    notes = [
        "extractive summaries list names by the rules that also find what was needed: they are flattered"
    ]
    if len(variants) > 1 and sessions < FEWEST_SESSIONS:
        notes.append(f"no intervals: they need {FEWEST_SESSIONS} sessions or more")
    if any(each.boundary.at == "recorded" for each in results):
        notes.append("what followed was written under the recorded summary, which favours it")
    return notes
