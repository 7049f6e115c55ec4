"""Print what sessions would have cost under policies that decide when to compact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cli.output import counted, print_line, safe_line, table, thousands
from cli.views.plot import plot
from cli.views.texts import dollars
from compaction.replay.triggered import TriggeredRun

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
    out.print()
    numbers = ("COMPACTIONS", "TOKENS SENT", "LARGEST CONTEXT", "INPUT COST")
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
