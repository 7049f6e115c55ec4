"""Print a replay: a line for each variant, or the costs where policies decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

from cli.output import counted, print_line, safe_line, table, thousands
from cli.views.plot import plot
from cli.views.texts import dollars, part_of, percent
from compaction.replay.intervals import FEWEST_SESSIONS
from compaction.replay.results import Counts, ReplayResult, VariantSummary
from compaction.replay.triggered import TriggeredRun

if TYPE_CHECKING:
    from rich.console import Console

_NONE_RECORDED: Final = "The sessions were never compacted: leave out --at recorded."
_NONE_CLEAN: Final = "There is no place to compact: the sessions are too short, or were compacted too early."


def session_line(session: str, boundaries: int, summaries: Sequence[VariantSummary]) -> str:
    """Return the result of a session in one line: the share of the size that each variant left."""
    shares = (f"{safe_line(each.variant)} {percent(each.size)}" for each in summaries)
    places = counted(boundaries, "boundary", "boundaries")
    return f"{safe_line(session)}: {places}; size left: {', '.join(shares)}"


def print_replay(
    out: Console,
    results: Sequence[ReplayResult],
    summaries: Sequence[VariantSummary],
    *,
    is_recorded: bool,
) -> None:
    """Print the table of variants; `is_recorded`: the boundaries are recorded ones."""
    if not results:
        print_line(out, _NONE_RECORDED if is_recorded else _NONE_CLEAN)
        return
    at = results[0].boundary.at
    sessions = {each.boundary.session for each in results}
    places = counted(len(results), f"{at} boundary", f"{at} boundaries")
    where = ", chosen in stretches that were never compacted" if at == "clean" else ""
    print_line(out, f"{places} in {counted(len(sessions), 'session')}{where}", style="bold")
    out.print()
    kept = ("RULES KEPT", "FACTS KEPT", "LOSSES AVOIDED") if any(each.judged for each in summaries) else ()
    costs = ("CALLS", "INPUT COST") if is_recorded else ()
    numbers = ("BOUNDARIES", "FAILED", "SIZE LEFT", *costs, *kept)
    listing = table(
        "VARIANT",
        *numbers,
        right=numbers,
        drops=("FAILED", "BOUNDARIES", "CALLS", "INPUT COST", "LOSSES AVOIDED"),
    )
    for each in summaries:
        figures = (thousands(each.trials), thousands(each.failed), percent(each.size))
        spent = (requests_of(each), dollars(each.dollars)) if costs else ()
        listing.add_row(safe_line(each.variant), *figures, *spent, *(kept_by(each) if kept else ()))
    out.print(listing, crop=False)
    _print_rounds(out, summaries)
    for note in (
        *restored_in(results),
        *failures_of(results, summaries),
        *cost_notes(results, summaries),
        *kept_notes(results, summaries),
    ):
        print_line(out, note, style="dim")


def _print_rounds(out: Console, summaries: Sequence[VariantSummary]) -> None:
    """Print what each variant kept, round by round."""
    rounds = max(([each.round for each in variant.rounds] for variant in summaries), key=len, default=[])
    whats: tuple[Literal["rules", "facts"], ...] = ("rules", "facts")
    asked = [each.asked for variant in summaries for each in variant.rounds]
    for what in whats:
        if not any(getattr(each, what) for each in asked):
            continue
        names = [f"ROUND {number}" for number in rounds]
        listing = table(f"{what.upper()} BY ROUND", *names, right=names)
        for variant in summaries:
            counts = [
                kept_of(
                    getattr(each.kept, what),
                    getattr(each.read, what) if each.read else 0,
                    getattr(each.asked, what),
                )
                for each in variant.rounds
            ]
            listing.add_row(safe_line(variant.variant), *counts, *["-"] * (len(rounds) - len(counts)))
        out.print()
        out.print(listing, crop=False)


def requests_of(variant: VariantSummary) -> str:
    """Return the requests to a model for a variant's summaries, "-" if not recorded."""
    return "-" if variant.requests is None else thousands(variant.requests)


def cost_notes(results: Sequence[ReplayResult], summaries: Sequence[VariantSummary]) -> Iterator[str]:
    """Yield what the columns of calls and cost count."""
    calls = sum(each.boundary.calls for each in results)
    if calls and any(each.dollars is not None for each in summaries):
        yield (
            "calls: requests to a model for the summaries; input cost: by list prices, of the"
            f" {counted(calls, 'recorded call')} that followed, each reading from the cache what the one before sent"
        )


def kept_by(variant: VariantSummary) -> tuple[str, str, str]:
    """Return the rules and facts that a variant kept, and the losses that it avoided, of all."""
    kept, read, asked = variant.kept, variant.read or Counts(), variant.asked
    return (
        kept_of(kept.rules, read.rules, asked.rules),
        kept_of(kept.facts, read.facts, asked.facts),
        kept_of(kept.losses, read.losses, asked.losses),
    )


def kept_of(kept: int, read: int, asked: int) -> str:
    """Return how many are there word for word, of all, and how many more in other words."""
    return part_of(kept, asked) + (f" +{read:,} read" if read else "")


def kept_notes(results: Sequence[ReplayResult], summaries: Sequence[VariantSummary]) -> Iterator[str]:
    """Yield what the counts of kept rules and facts rest on, and what is not counted."""
    recorded = [each for each in results if each.boundary.at == "recorded"]
    unknown = sum(each.boundary.asked is None for each in recorded)
    judged = max((each.judged for each in summaries), default=0)
    if judged:
        places = counted(judged, "boundary", "boundaries")
        is_read = any(each.read is not None for each in summaries)
        others = "“read”: what a model found in other words" if is_read else "other words do not count"
        yield f"kept: of what was read at {places}, what a context has word for word; {others}"
    unread = Counter(
        trial.kept.unread for each in results for trial in each.trials if trial.kept and trial.kept.unread
    )
    for reason, count in unread.most_common(1):
        places = counted(unread.total(), "context")
        most = f"; {thousands(count)} of them" if len(unread) > 1 else ""
        yield f"not read in other words: {places}{most}: {safe_line(reason)}"
    rounds = Counter(each.boundary.round for each in results)
    if len({rounds[number] for number in rounds}) > 1:
        most = ", ".join(f"{number}: {counted(rounds[number], 'session')}" for number in sorted(rounds))
        yield f"sessions that were compacted so often, by round: {most}"
    if unknown:
        places = f"{thousands(unknown)} of {counted(len(recorded), 'boundary', 'boundaries')}"
        yield f"what was kept is not counted at {places}, which nobody has read: refold judge"
    if hidden := sum(_is_hidden(each) for each in recorded):
        places = counted(hidden, "boundary", "boundaries")
        yield f"what was kept is not counted at {places}, where only its provider can read a context"
    sessions = len({each.boundary.session for each in recorded if each.boundary.asked})
    if judged and sum(each.judged > 0 for each in summaries) > 1:
        if sessions < FEWEST_SESSIONS:
            found = counted(sessions, "session")
            yield f"no intervals: what was read is of {found}, and they need {FEWEST_SESSIONS}"
        yield from filter(None, map(_differences, summaries))


def _is_hidden(result: ReplayResult) -> bool:
    return result.boundary.asked is not None and any(trial.is_sealed for trial in result.trials)


def _differences(summary: VariantSummary) -> str:
    """Return the intervals of a variant's differences in one line, "" for none."""
    if (against := summary.against) is None:
        return ""
    named = (("size", against.size), ("rules", against.rules), ("facts", against.facts))
    found = [
        f"{what} {low:+.0%} to {high:+.0%}" for what, limits in named if limits for low, high in [limits]
    ]
    between = f"{safe_line(summary.variant)} against {safe_line(against.variant)}"
    return f"{between}, 95 % over sessions: {', '.join(found)}" if found else ""


def restored_in(results: Sequence[ReplayResult]) -> Iterator[str]:
    """Yield how much of each variant's contexts is content that was sent again."""
    restored = Counter[str]()
    for trial in (trial for result in results for trial in result.trials):
        restored[trial.variant] += trial.tokens_restored or 0
    for variant, tokens in restored.items():
        if tokens:
            size = counted(tokens, "token")
            yield f"{safe_line(variant)}: {size} of files and lists sent again, as recorded or reckoned from usage"


def failures_of(results: Sequence[ReplayResult], summaries: Sequence[VariantSummary]) -> Iterator[str]:
    """Yield why rows count fewer boundaries than there are: the variants' most frequent errors."""
    rows = next((each for each in summaries if each.trials), None)
    if rows is not None and rows.trials < len(results):
        yield (
            f"rows count the {thousands(rows.trials)} of {counted(len(results), 'boundary', 'boundaries')}"
            " at which every variant has a result"
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


if TYPE_CHECKING:
    from rich.console import Console

_HEIGHT = 4
"""Lines of a plot."""
_FAR_ABOVE = 1.1
"""A measured context is this many times its estimate before a warning says so."""


def print_runs(out: Console, runs: Sequence[TriggeredRun]) -> None:
    """Print a line per variant, over the sessions that all could run; plot a single session."""
    failed = {(run.session, run.variant): run.error for run in runs if run.error}
    works = list(dict.fromkeys(run.variant for run in runs if not run.error))
    left_out = {session for session, name in failed if name in works}
    sessions = {run.session for run in runs} - left_out
    print_line(out, f"{counted(len(sessions), 'session')}; policies decide when to compact", style="bold")
    recorded = [run for run in runs if run.session in sessions and run.measured_sent]
    if recorded:
        total = counted(sum(run.measured_sent or 0 for run in recorded), "token")
        most = thousands(max(run.measured_peak or 0 for run in recorded))
        print_line(
            out, f"as recorded, the provider counted {total}, answers included, and at most {most} for a call"
        )
    print_line(out, "below, all by estimate:")
    out.print()
    numbers = ("COMPACTIONS", "EST. TOKENS SENT", "EST. LARGEST CONTEXT", "EST. INPUT COST")
    listing = table("VARIANT", *numbers, right=numbers)
    for name in works:
        found = [run for run in runs if run.variant == name and run.session in sessions]
        costs = [run.dollars for run in found if run.dollars is not None]
        listing.add_row(
            safe_line(name),
            thousands(sum(len(run.compactions) for run in found)),
            thousands(sum(run.tokens_sent or 0 for run in found)),
            thousands(max((run.peak_tokens or 0 for run in found), default=0)),
            dollars(sum(costs)) if len(costs) == len(found) else "-",
        )
    out.print(listing, crop=False)
    if len(sessions) == 1:
        _print_plots(out, [run for run in runs if not run.error])
    notes = [f"{safe_line(name)}: {safe_line(error)}" for (_, name), error in failed.items() if error]
    for note in (
        *dict.fromkeys(notes),
        *_too_small([run for run in runs if run.session in sessions]),
        (
            "tokens by pi's estimate, without system prompt and tools; each call is assumed to read from the cache"
            " what the one before sent"
        ),
    ):
        print_line(out, note, style="dim")


def _too_small(runs: Iterable[TriggeredRun]) -> Iterator[str]:
    """Yield a warning if the provider counted much more than the estimate that triggers see."""
    recorded = [(run.measured_peak or 0, run.peak_tokens or 0) for run in runs]
    measured, estimated = max(recorded, key=lambda peaks: peaks[0] - peaks[1], default=(0, 0))
    if measured > _FAR_ABOVE * estimated:
        yield (
            f"policies would compact earlier than shown: the provider counted {thousands(measured)} tokens where the"
            f" estimate's largest context has {thousands(estimated)}"
        )


def _print_plots(out: Console, runs: Sequence[TriggeredRun]) -> None:
    """Print the sizes of the contexts that were sent, run by run; `∑` marks compactions."""
    for run in runs:
        marks = [
            next((place for place, sent in enumerate(run.sent) if sent.seq > each.seq), len(run.sent) - 1)
            for each in run.compactions
        ]
        out.print()
        print_line(out, safe_line(run.variant), style="bold")
        values = [sent.tokens for sent in run.sent]
        for line in plot(values, marks=marks, width=min(out.width, 100), height=_HEIGHT):
            out.print(line, crop=False, no_wrap=True, overflow="ignore")
