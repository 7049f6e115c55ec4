"""Print a replay: a line for each variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from cli.output import counted, print_line, safe_line, table, thousands
from cli.views.texts import percent
from compaction.replay.results import ReplayResult, VariantSummary

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
    numbers = ("BOUNDARIES", "FAILED", "SIZE LEFT")
    listing = table("VARIANT", *numbers, right=numbers, drops=("FAILED", "BOUNDARIES"))
    for each in summaries:
        listing.add_row(
            safe_line(each.variant), thousands(each.trials), thousands(each.failed), percent(each.size)
        )
    out.print(listing, crop=False)
    for note in (*restored_in(results), *failures_of(results, summaries)):
        print_line(out, note, style="dim")


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
