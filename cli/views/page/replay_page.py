"""Build the page of a replay: a plot of the variants, and their summaries side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from markupsafe import Markup

from cli.output import counted, safe_line, short_paths, thousands, when
from cli.views.page.html import rendered, summary_html
from cli.views.replay_table import difference_text, failures_of, fork_arguments, notes_of
from cli.views.texts import percent
from compaction.replay.comparison import BoundaryFigures, VariantSummary, largest_loss
from compaction.replay.results import ReplayResult
from eventstore.errors import shell_command

MOST: Final = 20
"""Boundaries whose summaries are shown, those with the largest differences."""
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 720, 380, 74, 14, 14, 48
_LINE: Final = 16
"""The height of a label in the plot."""
_CHARACTER: Final = 8
"""The largest mean width of a label's characters."""
_RADIUS: Final = 6
_GAP: Final = 10
"""The distance of a label from its point."""
_LONGEST_LABEL: Final = 24
"""In characters; the template cuts longer ones."""
_STEPS: Final = (5, 10, 20)
"""Distances of two ticks, in percent."""
_INTERVALS: Final = 5
"""The number of intervals above which an axis has a larger step."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The source of a page: a store's place, and the command line that made the page.

    Both are without passwords. `made` is the time in milliseconds since 1970.
    """

    store: str
    command: str
    made: int


class _Axis(msgspec.Struct, frozen=True, kw_only=True):
    """An axis from `low` to `high` between two coordinates, with a tick at each `step`.

    These three are in percent.
    """

    low: int
    high: int
    step: int
    start: float
    end: float

    def at(self, share: float) -> float:
        """Return the coordinate of a share."""
        part = (100 * share - self.low) / (self.high - self.low)
        return round(self.start + part * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The coordinate and the label of each tick."""
        return [(self.at(each / 100), f"{each}%") for each in range(self.low, self.high + 1, self.step)]


def _axis(shares: Iterable[float | None], start: float, end: float) -> _Axis:
    """Return an axis with round ends that has room for all shares and not much more."""
    percents = [100 * each for each in shares if each is not None] or [0, 100]
    least, most = min(percents), max(percents)
    step = next((each for each in _STEPS if most - least <= _INTERVALS * each), _STEPS[-1])
    low = math.floor(least / step) * step
    high = max(math.ceil(most / step) * step, low + 2 * step)
    if most <= 100 < high:  # noqa: PLR2004  percent
        low, high = 100 - 2 * step, 100
    return _Axis(low=low, high=high, step=step, start=start, end=end)


class VariantPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A variant in the plot, and the place of its label: the start or the end of its base line."""

    variant: str
    x: float
    y: float
    label_x: float
    label_y: float
    is_left: bool
    title: str

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The left, right, top and bottom of the label."""
        width = _CHARACTER * min(len(self.variant), _LONGEST_LABEL)
        left = self.label_x - width if self.is_left else self.label_x
        return left, left + width, self.label_y - _LINE + 4, self.label_y + 4


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A variant's summary at a boundary, or the reason for its absence."""

    variant: str
    about: str
    summary: Markup
    missing: list[str]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary, with each variant's summary; `command` forks the session there."""

    anchor: str
    name: str
    command: str
    about: str
    lost: int
    sides: list[Side]


def replay_page(
    results: Sequence[BoundaryFigures],
    worst: Sequence[ReplayResult],
    variants: Sequence[VariantSummary],
    *,
    origin: Origin,
    is_extractive: bool,
) -> bytes:
    """Return the page as UTF-8; it shows the summaries of the worst cases.

    `is_extractive`: the summaries of a variant are extracted, without a model.
    """
    sessions = sorted({each.boundary.session for each in results})
    needed = sum(each.boundary.needed_count for each in results)
    is_recorded = any(each.boundary.at == "recorded" for each in results)
    at = f"{results[0].boundary.at} " if results else ""
    x_axis = _axis((each.size for each in variants), _LEFT, _WIDTH - _RIGHT)
    y_axis = _axis((each.kept_share for each in variants), _HEIGHT - _BOTTOM, _TOP)
    html = rendered(
        "replay.html",
        command=origin.command,
        store=safe_line(origin.store),
        made=when(origin.made),
        sessions=sessions,
        title=f"{counted(len(results), f'{at}boundary', f'{at}boundaries')} in {counted(len(sessions), 'session')}",
        about=f"{counted(needed, 'thing')} needed after them; the others are compared with the first variant",
        notes=[
            *failures_of(results, variants),
            *notes_of(
                results,
                variants,
                len(sessions),
                is_extractive=is_extractive,
            ),
        ],
        variants=variants,
        differences=[difference_text(each.difference) for each in variants],
        overlaps=[each for each in variants if each.overlap is not None] if is_recorded else [],
        points=_points(variants, x_axis, y_axis),
        is_cut=x_axis.low > 0 or y_axis.low > 0,
        frame={"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "right": _WIDTH - _RIGHT}
        | {"top": _TOP, "bottom": _HEIGHT - _BOTTOM},
        x_ticks=x_axis.ticks,
        y_ticks=y_axis.ticks,
        places=[_place(number, each) for number, each in enumerate(worst)],
        left_out=len(results) - len(worst),
    )
    return html.encode()


def _points(variants: Sequence[VariantSummary], x_axis: _Axis, y_axis: _Axis) -> list[VariantPoint]:
    """Return the variants that have figures; no label covers another one or a point."""
    shown = [(each, each.size, each.kept_share) for each in variants]
    centers = [
        (
            each.variant,
            x_axis.at(size),
            y_axis.at(share),
            f"{percent(size)} of the size, {percent(share)} kept",
        )
        for each, size, share in shown
        if size is not None and share is not None
    ]
    dots = [(x - _RADIUS, x + _RADIUS, y - _RADIUS, y + _RADIUS) for _, x, y, _ in centers]
    placed: list[VariantPoint] = []
    for name, x, y, title in sorted(centers, key=lambda each: each[2]):
        taken = [*dots, *(other.box for other in placed)]
        candidates = [
            VariantPoint(
                variant=name,
                x=x,
                y=y,
                label_x=x - _GAP if is_left else x + _GAP,
                label_y=y + 4 + lines * _LINE / 2,
                is_left=is_left,
                title=f"{name}: {title}",
            )
            for lines in sorted(range(-2 * _HEIGHT // _LINE, 2 * _HEIGHT // _LINE), key=abs)
            for is_left in (False, True)
        ]
        inside = [each for each in candidates if _is_inside(each.box)]
        free = (each for each in inside if not any(_overlap(each.box, other) for other in taken))
        placed.append(next(free, inside[0]))
    return placed


def _is_inside(box: tuple[float, float, float, float]) -> bool:
    left, right, top, bottom = box
    return left >= _LEFT and right <= _WIDTH and top >= 0 and bottom <= _HEIGHT - _BOTTOM


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _place(number: int, result: ReplayResult) -> Place:
    kept, boundary = result.kept.by_variant, result.boundary
    first = result.trials[0].variant
    return Place(
        anchor=f"b-{number}",
        name=f"{boundary.session}#{boundary.seq}",
        command=safe_line(shell_command(*fork_arguments(boundary))),
        about=f"{thousands(boundary.needed_count)} needed, {thousands(boundary.probe_count)} asked",
        lost=largest_loss(result),
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
