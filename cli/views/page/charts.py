"""Draw the two charts of a session: its context's size, and its cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec

from cli.output import counted, thousands
from cli.views.page.lines import EventLines
from cli.views.page.material import Material, cumulative_cost, total_cost
from cli.views.page.parts import Chart, Mark, Section, Tick
from cli.views.texts import dollars, line_of, spent_dollars

WIDTH: Final = 1040
LEFT: Final = 52
RIGHT: Final = WIDTH - 12
_BELOW: Final = 26
_LANE: Final = 22
_LANES: Final = 3
"""Rows of markers above a plot."""
_COLUMNS: Final = 9
_ROWS: Final = 4
"""Approximate number of labels on the axes."""


class Point(msgspec.Struct, frozen=True):
    """The value after the entry `seq`."""

    seq: int
    value: float


class ChartMarker(msgspec.Struct, frozen=True, kw_only=True):
    """A marker at an entry: in a lane above the plot, on the curve, or on the axis."""

    seq: int
    kind: str
    title: str
    target: str
    sign: str = ""
    where: Literal["above", "curve", "floor"] = "above"


class _Plot(msgspec.Struct, frozen=True, kw_only=True):
    """The rectangle of a plot; converts positions of entries and values to coordinates."""

    entries: int
    highest: float
    top: float
    bottom: float

    def x(self, at: float) -> float:
        return LEFT + (RIGHT - LEFT) * at / self.entries

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * min(value / self.highest, 1)


def chart(
    points: Sequence[Point],
    *,
    height: int,
    label: str,
    name: Callable[[float], str],
    second: Sequence[Point] = (),
    places: Sequence[ChartMarker] = (),
) -> Chart:
    """Draw one series as a stepped area, another as a line, and markers at entries of the first.

    `name` formats a value of the vertical axis.
    """
    place_of = {point.seq: at for at, point in enumerate(points)}
    lanes = _lanes([(place, place_of[place.seq]) for place in places], len(points))
    highest = max((point.value for point in (*points, *second)), default=0)
    ticks = _ticks(highest)
    above = 1 + max((lane for lane in lanes if lane is not None), default=-1)
    plot = _Plot(entries=len(points), highest=ticks[-1], top=_LANE * above + 10, bottom=height - _BELOW)
    steps = list(_steps(points, place_of, plot))
    marks = []
    for place, lane in zip(places, lanes, strict=True):
        at = place_of[place.seq]
        curve = plot.y(points[at].value)
        y = {"above": _LANE * ((lane or 0) + 0.5) + 2, "curve": curve - 6, "floor": plot.bottom}[place.where]
        marks.append(
            Mark(
                kind=place.kind,
                sign=place.sign,
                title=place.title,
                target=place.target,
                x=round(plot.x(at + 0.5), 1),
                y=round(y, 1),
            )
        )
    return Chart(
        width=WIDTH,
        height=height,
        left=LEFT,
        right=RIGHT,
        top=plot.top,
        bottom=plot.bottom,
        area=f"M{LEFT} {plot.bottom:g}{_drawn(steps)}V{plot.bottom:g}Z",
        line=_line(steps),
        second=_line(list(_steps(second, place_of, plot))),
        rows=[Tick(at=round(plot.y(tick), 1), label=name(tick)) for tick in ticks],
        columns=_columns(points, plot),
        marks=marks,
        points=" ".join(f"{point.seq}:{point.value:.10g}" for point in points),
        label=label,
    )


def _lanes(placed: Sequence[tuple[ChartMarker, int]], entries: int) -> list[int | None]:
    """Choose a lane above the plot for each marker, so that neighbours do not overlap."""
    room = entries * _LANE / (RIGHT - LEFT)
    last = [-math.inf] * _LANES
    lanes: list[int | None] = []
    for place, at in placed:
        if place.where != "above":
            lanes.append(None)
            continue
        lane = next((lane for lane in range(_LANES) if at - last[lane] >= room), _LANES - 1)
        last[lane] = at
        lanes.append(lane)
    return lanes


def _ticks(highest: float) -> list[float]:
    """Return round values from 0 to the first one that is not below the highest."""
    if highest <= 0:
        return [0, 1]
    rough = highest / _ROWS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * (1 - 1e-9))
    return [step * number for number in range(math.ceil(highest / step - 1e-9) + 1)]


def _columns(points: Sequence[Point], plot: _Plot) -> list[Tick]:
    """Return numbers of entries at equal distances, the first included."""
    every = max(-(-len(points) // _COLUMNS), 1)
    return [
        Tick(at=round(plot.x(at + 0.5), 1), label=f"#{points[at].seq}") for at in range(0, len(points), every)
    ]


def _steps(
    points: Sequence[Point], place_of: Mapping[int, int], plot: _Plot
) -> Iterator[tuple[float, float]]:
    """Yield where a curve changes, with the highest of values too close to distinguish."""
    x = y = math.nan
    for point in points:
        start, height = round(plot.x(place_of[point.seq]) * 2) / 2, round(plot.y(point.value), 1)
        if start == x:
            y = min(y, height)
            continue
        if not math.isnan(x):
            yield x, y
        x, y = start, height
    if not math.isnan(x):
        yield x, y


def _line(steps: Sequence[tuple[float, float]]) -> str:
    return f"M{steps[0][0]:g} {steps[0][1]:g}{_drawn(steps)}" if steps else ""


def _drawn(steps: Sequence[tuple[float, float]]) -> str:
    """Return steps as an SVG path up to the right edge."""
    drawn: list[str] = []
    height = math.nan
    for x, y in steps:
        if y != height:
            drawn.append(f"H{x:g}V{y:g}")
            height = y
    return "".join(drawn) + f"H{RIGHT}"


_LONGEST: Final = 60
_NAMED: Final = 3
"""Maximum things to name for one event."""


def chart_markers(
    material: Material, lines: EventLines, views: Sequence[Section], target: Callable[[int], str]
) -> list[ChartMarker]:
    """Return markers for replacements, work done again, forks and model changes, in path order."""
    found = [*_replaced(views, target), *_again(views), *_forks(material), *_models(material, lines)]
    return sorted((place for place in found if place.seq in material.path), key=lambda place: place.seq)


def _replaced(views: Sequence[Section], target: Callable[[int], str]) -> Iterator[ChartMarker]:
    for section in views:
        view, size = section.replacement, section.sizes
        yield ChartMarker(
            seq=view.seq,
            kind=view.kind,
            sign=view.sign,
            title=f"{view.name.capitalize()} at #{view.seq}: {size.before:,} to {size.after:,} tokens, {size.counted}",
            target=target(view.seq),
        )


def _again(views: Sequence[Section]) -> Iterator[ChartMarker]:
    """Yield each event at which something was done again, once."""
    done: dict[int, dict[str, None]] = {}
    for view in views:
        rework = view.replacement.metrics.rework
        if rework is None:
            continue
        for fetched in rework.fetched:
            done.setdefault(fetched.again.seq, {})[f"read {line_of(fetched.file, _LONGEST)}"] = None
        for failed in rework.failed:
            done.setdefault(failed.again.seq, {})[f"failed {line_of(failed.target, _LONGEST)}"] = None
    for seq, things in done.items():
        named = ", ".join(list(things)[:_NAMED])
        more = f" and {len(things) - _NAMED} more" if len(things) > _NAMED else ""
        yield ChartMarker(
            seq=seq, kind="again", title=f"#{seq} again: {named}{more}", target=f"e-{seq}", where="curve"
        )


def _forks(material: Material) -> Iterator[ChartMarker]:
    seq_of = {event.id: event.seq for event in material.events}
    for name, branches in material.tree.branches().items():
        if branches > 1:
            others = counted(branches - 1, "other branch leaves", "other branches leave")
            seq = seq_of[name]
            yield ChartMarker(
                seq=seq,
                kind="fork",
                title=f"#{seq}: {others} here",
                target=f"e-{seq}",
                where="floor",
            )


def _models(material: Material, lines: EventLines) -> Iterator[ChartMarker]:
    for event in material.events:
        if event.kind == "model_change":
            yield ChartMarker(
                seq=event.seq,
                kind=event.kind,
                title=f"#{event.seq}: the model is now {line_of(lines[event.seq].text, _LONGEST)}",
                target=f"e-{event.seq}",
                where="floor",
            )


_CONTEXT_HEIGHT: Final = 300
_COST_HEIGHT: Final = 130


def context_chart(material: Material, places: Sequence[ChartMarker]) -> Chart | None:
    """Draw the context's recomputed and measured size after every entry; None for an empty path."""
    moments = material.timeline.moments
    if not moments:
        return None
    return chart(
        [Point(moment.seq, moment.tokens) for moment in moments],
        height=_CONTEXT_HEIGHT,
        label=f"Tokens in the context after each of {len(moments):,} entries",
        name=lambda value: thousands(round(value)),
        second=[Point(moment.seq, moment.measured) for moment in moments if moment.measured is not None],
        places=places,
    )


def cost_chart(material: Material) -> Chart | None:
    """Draw the cumulative cost; None if no cost is known."""
    moments = material.timeline.moments
    if not total_cost(material.calls) or not moments:
        return None
    points = cumulative_cost(material.calls, [moment.seq for moment in moments])
    return chart(
        [Point(seq, value) for seq, value in points],
        height=_COST_HEIGHT,
        label=f"US dollars spent by each of {len(moments):,} entries: {spent_dollars(material.view.row.spent)} in all",
        name=dollars,
    )
