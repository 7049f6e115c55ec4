"""Build the page of a replay: a plot of the variants, and their summaries side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from markupsafe import Markup

from cli.output import counted, short_paths, thousands
from cli.views.page.html import rendered, summary_html
from cli.views.replay_table import notes_of
from cli.views.texts import percent
from compaction.replay import ReplayResult
from compaction.replay.comparison import VariantSummary

MOST: Final = 20
"""Boundaries whose summaries are shown, those with the largest differences."""
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 720, 380, 52, 14, 14, 44
_LINE: Final = 14
"""Height of a label in the plot."""
_LABEL: Final = 120
"""Width that a label is assumed to have at most."""


class Point(msgspec.Struct, kw_only=True):
    """A variant in the plot, and the place of its label."""

    variant: str
    x: float
    y: float
    label_y: float
    is_left: bool
    title: str


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A variant's summary at a boundary, or the reason for which there is none."""

    variant: str
    about: str
    summary: Markup
    missing: list[str]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary, and what each variant made of it."""

    anchor: str
    name: str
    about: str
    lost: int
    sides: list[Side]


def replay_page(results: Sequence[ReplayResult], variants: Sequence[VariantSummary]) -> bytes:
    """Return the page as UTF-8."""
    sessions = {each.boundary.session for each in results}
    needed = sum(each.boundary.needed_count for each in results)
    places = sorted(_places(results, variants), key=lambda place: -place.lost)
    html = rendered(
        "replay.html",
        title=f"{counted(len(results), 'boundary', 'boundaries')} in {counted(len(sessions), 'session')}",
        about=f"{counted(needed, 'thing')} needed behind them; the first variant is compared with the others",
        notes=notes_of(results, [each.variant for each in variants], len(sessions)),
        variants=variants,
        points=_points(variants),
        frame={"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "right": _WIDTH - _RIGHT}
        | {"top": _TOP, "bottom": _HEIGHT - _BOTTOM},
        x_ticks=[(_x(share / 100), f"{share}%") for share in range(0, 101, 20)],
        y_ticks=[(_y(share / 100), f"{share}%") for share in range(0, 101, 20)],
        places=places[:MOST],
        left_out=max(len(places) - MOST, 0),
    )
    return html.encode()


def _x(share: float) -> float:
    return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)


def _y(share: float) -> float:
    return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)


def _points(variants: Sequence[VariantSummary]) -> list[Point]:
    """Return the variants that have figures; labels that would cover each other move down."""
    points = [
        Point(
            variant=each.variant,
            x=_x(min(each.size, 1.0)),
            y=_y(each.kept_share),
            label_y=_y(each.kept_share) + 4,
            is_left=_x(min(each.size, 1.0)) > _WIDTH - _RIGHT - _LABEL,
            title=f"{each.variant}: {percent(each.size)} of the size, {percent(each.kept_share)} kept",
        )
        for each in variants
        if each.size is not None and each.kept_share is not None
    ]
    placed: list[Point] = []
    for point in sorted(points, key=lambda each: each.label_y):
        for other in placed:
            if abs(other.x - point.x) < _LABEL and point.label_y < other.label_y + _LINE:
                point.label_y = other.label_y + _LINE
        placed.append(point)
    return placed


def _places(results: Sequence[ReplayResult], variants: Sequence[VariantSummary]) -> list[Place]:
    first = variants[0].variant if variants else ""
    return [_place(number, each, first) for number, each in enumerate(results)]


def _place(number: int, result: ReplayResult, first: str) -> Place:
    kept, boundary = result.kept.by_variant, result.boundary
    lost = [len(kept[first] - names) for names in kept.values()] if first in kept else [0]
    return Place(
        anchor=f"b-{number}",
        name=f"{boundary.session} #{boundary.seq}",
        about=f"{thousands(boundary.needed_count)} needed, {thousands(boundary.probe_count)} asked",
        lost=max(lost),
        sides=[
            Side(
                variant=trial.variant,
                about=trial.error
                or f"{thousands(trial.tokens_after)} of {thousands(trial.tokens_before)} tokens,"
                f" {thousands(trial.kept_count)} kept, {thousands(trial.answered_count)} answered",
                summary=summary_html(result.kept.summaries.get(trial.variant, ""), {}),
                missing=sorted(
                    short_paths(value)
                    for _, value in kept.get(first, frozenset()) - kept.get(trial.variant, frozenset())
                )
                if trial.variant in kept
                else [],
            )
            for trial in result.trials
        ],
    )
