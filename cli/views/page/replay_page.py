"""Build the page of a replay: the sizes of the variants, and their summaries side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec
from markupsafe import Markup

from cli.output import counted, safe_line, thousands, when
from cli.views.page.html import rendered, summary_html
from cli.views.replay_table import failures_of, kept_by, kept_notes
from cli.views.texts import part_of, percent
from compaction.replay.results import ReplayResult, Trial, VariantSummary
from eventstore.errors import shell_command

MOST: Final = 20
"""Boundaries whose summaries are shown, the first ones."""


class Area(msgspec.Struct, frozen=True, kw_only=True):
    """The rectangle of a plot in which both axes go from 0 to 100 %."""

    width: int = 520
    height: int = 260
    left: int = 52
    right: int = 508
    top: int = 16
    bottom: int = 224


AREA: Final = Area()


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The source of a page: a store's place, and the command line that made the page.

    Both are without passwords. `made` is the time in milliseconds since 1970.
    """

    store: str
    command: str
    made: int


class Dot(msgspec.Struct, frozen=True, kw_only=True):
    """A trial in a plot.

    `sign` is its variant's number, `target` its boundary's anchor, "" for none.
    """

    x: float
    y: float
    sign: int
    title: str
    target: str


class Frontier(msgspec.Struct, frozen=True, kw_only=True):
    """A plot of what was kept against the size left, a dot for each trial."""

    what: str
    dots: list[Dot]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A variant's summary at a boundary, or the reason for its absence.

    `lacks` are rules and facts that its context does not have word for word.
    """

    variant: str
    about: str
    lacks: list[str]
    summary: Markup


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary, with each variant's summary; `command` forks the session there."""

    anchor: str
    name: str
    command: str
    sides: list[Side]


def replay_page(
    results: Sequence[ReplayResult], variants: Sequence[VariantSummary], *, origin: Origin
) -> bytes:
    """Return the page as UTF-8; it shows the summaries at the first boundaries."""
    sessions = sorted({each.boundary.session for each in results})
    at = f"{results[0].boundary.at} " if results else ""
    shown = results[:MOST]
    html = rendered(
        "replay.html",
        command=origin.command,
        store=safe_line(origin.store),
        made=when(origin.made),
        sessions=sessions,
        title=f"{counted(len(results), f'{at}boundary', f'{at}boundaries')} in {counted(len(sessions), 'session')}",
        notes=[*failures_of(results, variants), *kept_notes(results, variants)],
        variants=variants,
        is_read=any(each.judged for each in variants),
        kept=[kept_by(each) for each in variants],
        frontiers=list(_frontiers(results, variants)),
        area=AREA,
        places=[_place(number, each) for number, each in enumerate(shown)],
        left_out=len(results) - len(shown),
    )
    return html.encode()


def _frontiers(results: Sequence[ReplayResult], variants: Sequence[VariantSummary]) -> Iterator[Frontier]:
    """Yield a plot of the rules and one of the facts, if there are any."""
    signs = {each.variant: number for number, each in enumerate(variants, 1)}
    whats: tuple[Literal["rules", "facts"], ...] = ("rules", "facts")
    for what in whats:
        dots = [
            _dot(number, result, trial, what, signs[trial.variant])
            for number, result in enumerate(results)
            for trial in result.trials
            if trial.kept and result.boundary.asked and getattr(result.boundary.asked, what)
        ]
        if dots:
            yield Frontier(what=what, dots=dots)


def _dot(number: int, result: ReplayResult, trial: Trial, what: Literal["rules", "facts"], sign: int) -> Dot:
    kept, asked = getattr(trial.kept, what), getattr(result.boundary.asked, what)
    size = (trial.tokens_after or 0) / trial.tokens_before if trial.tokens_before else 0.0
    place = f"{result.boundary.session}#{result.boundary.seq}"
    return Dot(
        x=round(AREA.left + (AREA.right - AREA.left) * min(size, 1), 1),
        y=round(AREA.bottom - (AREA.bottom - AREA.top) * kept / asked, 1),
        sign=sign,
        title=safe_line(
            f"{trial.variant} at {place}: {part_of(kept, asked)} {what}, {percent(size)} of the size"
        ),
        target=f"b-{number}" if number < MOST else "",
    )


def _about(result: ReplayResult, trial: Trial) -> str:
    """Return a trial's size and what it kept, or why there is no result."""
    if trial.error:
        return trial.error
    size = f"{thousands(trial.tokens_after)} of {thousands(trial.tokens_before)} tokens"
    if (kept := trial.kept) is None or (asked := result.boundary.asked) is None:
        return size
    named = (
        ("rules", kept.rules, asked.rules),
        ("facts", kept.facts, asked.facts),
        ("losses avoided", kept.losses, asked.losses),
    )
    return "; ".join([size, *(f"{what} {part_of(found, total)}" for what, found, total in named if total)])


def _place(number: int, result: ReplayResult) -> Place:
    boundary = result.boundary
    return Place(
        anchor=f"b-{number}",
        name=f"{boundary.session}#{boundary.seq}",
        command=safe_line(shell_command(f"fork --leaf '#{boundary.seq}' --as trial", boundary.session)),
        sides=[
            Side(
                variant=trial.variant,
                about=_about(result, trial),
                lacks=trial.kept.lacks if trial.kept else [],
                summary=summary_html(result.summaries.get(trial.variant, "")),
            )
            for trial in result.trials
        ],
    )
