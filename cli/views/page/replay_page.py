"""Build the page of a replay: the sizes of the variants, and their summaries side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec
from markupsafe import Markup

from cli.output import counted, safe_line, thousands, when
from cli.views.page.html import rendered, summary_html
from cli.views.page.marking import Marked, marked
from cli.views.replay_table import cost_notes, failures_of, kept_by, kept_notes, kept_of, requests_of
from cli.views.texts import part_of, percent
from compaction.replay.results import Claim, Counts, ReplayResult, Trial, VariantSummary, all_kept
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


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A variant's curve: `points` of an SVG polyline, and its dots."""

    sign: int
    points: str
    dots: list[Dot]


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """The rules or facts that variants kept by round; `rounds` are numbers with their places."""

    what: str
    lines: list[Line]
    rounds: list[tuple[int, float]]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A variant's summary at a boundary with marks, or the reason for its absence."""

    variant: str
    about: str
    summary: Markup


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a claim in a context; `target` is the anchor of a mark, `title` the words."""

    text: str
    title: str = ""
    target: str = ""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of a boundary, and where each variant's context has it."""

    label: str
    claim: str
    cells: list[Cell]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary, with each variant's summary; `command` forks the session there."""

    anchor: str
    name: str
    command: str
    asked: list[Asked]
    sides: list[Side]


def replay_page(
    results: Sequence[ReplayResult], variants: Sequence[VariantSummary], *, origin: Origin
) -> bytes:
    """Return the page as UTF-8; it shows the summaries at the first boundaries."""
    sessions = sorted({each.boundary.session for each in results})
    at = f"{results[0].boundary.at} " if results else ""
    boundaries = counted(len(results), f"{at}boundary", f"{at}boundaries")
    rounds = max((each.boundary.round for each in results), default=0)
    shown = results[:MOST]
    html = rendered(
        "replay.html",
        command=origin.command,
        store=safe_line(origin.store),
        made=when(origin.made),
        sessions=sessions,
        title=f"{boundaries} in {counted(len(sessions), 'session')}{f', in {rounds} rounds' if rounds else ''}",
        notes=[
            *failures_of(results, variants),
            *cost_notes(results, variants),
            *kept_notes(results, variants),
        ],
        variants=variants,
        is_read=any(each.judged for each in variants),
        kept=[kept_by(each) for each in variants],
        requests=[requests_of(each) for each in variants],
        frontiers=list(_frontiers(results, variants)),
        curves=list(_curves(variants)),
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
    kept, asked = getattr(all_kept(trial), what), getattr(result.boundary.asked, what)
    size = (trial.tokens_after or 0) / trial.tokens_before if trial.tokens_before else 0.0
    return Dot(
        x=round(AREA.left + (AREA.right - AREA.left) * min(size, 1), 1),
        y=_height(kept / asked),
        sign=sign,
        title=safe_line(
            f"{trial.variant} at {_name(result)}: {part_of(kept, asked)} {what}, {percent(size)} of the size"
        ),
        target=f"b-{number}" if number < MOST else "",
    )


def _height(share: float) -> float:
    return round(AREA.bottom - (AREA.bottom - AREA.top) * share, 1)


def _curves(variants: Sequence[VariantSummary]) -> Iterator[Curve]:
    """Yield the rules and the facts by round, if there are rounds."""
    whats: tuple[Literal["rules", "facts"], ...] = ("rules", "facts")
    rounds = max(([each.round for each in variant.rounds] for variant in variants), key=len, default=[])
    step = (AREA.right - AREA.left) / (len(rounds) + 1)
    places = {number: round(AREA.left + step * place, 1) for place, number in enumerate(rounds, 1)}
    for what in whats:
        lines = [
            _line(variant, what, number, places)
            for number, variant in enumerate(variants, 1)
            if any(getattr(each.asked, what) for each in variant.rounds)
        ]
        if lines:
            yield Curve(what=what, lines=lines, rounds=[*places.items()])


def _line(
    variant: VariantSummary, what: Literal["rules", "facts"], sign: int, places: dict[int, float]
) -> Line:
    dots = []
    for each in variant.rounds:
        kept, asked = getattr(each.kept, what), getattr(each.asked, what)
        kept += getattr(each.read, what) if each.read else 0
        if asked:
            title = f"{variant.variant}, round {each.round}: {part_of(kept, asked)} {what}"
            dots.append(
                # Lines of equal height would hide each other.
                Dot(
                    x=places[each.round] + 3 * (sign - 1),
                    y=_height(kept / asked),
                    sign=sign,
                    title=safe_line(title),
                    target="",
                )
            )
    return Line(sign=sign, points=" ".join(f"{each.x},{each.y}" for each in dots), dots=dots)


def _name(result: ReplayResult) -> str:
    name = f"{result.boundary.session}#{result.boundary.seq}"
    return f"{name}, round {result.boundary.round}" if result.boundary.round else name


def _about(result: ReplayResult, trial: Trial) -> str:
    """Return a trial's size and what it kept, or why there is no result."""
    if trial.error:
        return trial.error
    size = f"{thousands(trial.tokens_after)} of {thousands(trial.tokens_before)} tokens"
    if trial.kept is None or (asked := result.boundary.asked) is None:
        return size
    kept, read = trial.kept, trial.kept.read or Counts()
    named = (
        ("rules", kept.rules, read.rules, asked.rules),
        ("facts", kept.facts, read.facts, asked.facts),
        ("losses avoided", kept.losses, read.losses, asked.losses),
    )
    return "; ".join([size, *(f"{what} {kept_of(*counts)}" for what, *counts in named if counts[-1])])


def _place(number: int, result: ReplayResult) -> Place:
    boundary, anchor = result.boundary, f"b-{number}"
    labels = list(_labels(boundary.claims))
    return Place(
        anchor=anchor,
        name=_name(result),
        command=safe_line(shell_command(f"fork --leaf '#{boundary.seq}' --as trial", boundary.session)),
        asked=[
            Asked(
                label=label,
                claim=claim.claim,
                cells=[
                    _cell(trial, at, f"{anchor}-{column}-{label}")
                    for column, trial in enumerate(result.trials)
                ],
            )
            for at, (label, claim) in enumerate(zip(labels, boundary.claims, strict=True))
        ],
        sides=[
            Side(
                variant=trial.variant,
                about=_about(result, trial),
                summary=_summary(result, trial, labels, f"{anchor}-{column}"),
            )
            for column, trial in enumerate(result.trials)
        ],
    )


def _labels(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield R1, R2 for rules, F1 for facts, L1 for losses."""
    counts = Counter[str]()
    for each in claims:
        counts[each.kind] += 1
        yield f"{each.kind[0].upper()}{counts[each.kind]}"


def _cell(trial: Trial, at: int, anchor: str) -> Cell:
    if trial.kept is None:
        return Cell(text="")
    standing = next((each for each in trial.kept.standings if each.claim == at), None)
    if standing is None:
        return Cell(text="not there" if trial.kept.read is not None else "not word for word")
    where = "message" if standing.event else "summary"
    how = f"{where}, in other words" if standing.is_read else where
    title = f"{standing.event} {standing.quote}".strip()
    return Cell(text=how, title=title, target="" if standing.event else anchor)


def _summary(result: ReplayResult, trial: Trial, labels: Sequence[str], anchor: str) -> Markup:
    text = result.summaries.get(trial.variant, "")
    if trial.is_sealed:
        return Markup('<p class="about">only its provider can read this summary</p>')
    if not text:
        return Markup('<p class="about">no summary</p>')
    standings = trial.kept.standings if trial.kept else []
    wanted = [
        Marked(each.quote, labels[each.claim], f"{anchor}-{labels[each.claim]}")
        for each in standings
        if not each.event
    ]
    return marked(summary_html(text), wanted)
