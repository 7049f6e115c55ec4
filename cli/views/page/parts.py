"""The page's view model: figures, sections, charts, tree lines and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.views.model import ReplacementView, Sizes, ViewStruct

if TYPE_CHECKING:
    from markupsafe import Markup

    from projections.audit.readings import Loss, Rule


class Figure(ViewStruct, frozen=True):
    """A number at the top of the page: its name, value and a note."""

    name: str
    value: str
    note: str


class LabelledValue(ViewStruct, frozen=True):
    """A name and a value, or the number of the event that is the value; 0 for none."""

    name: str
    value: str = ""
    seq: int = 0


class Row(ViewStruct, frozen=True):
    """A message in the context before or after a replacement; `fate` is a `Change`."""

    seq: int
    name: str
    text: str
    tokens: int
    fate: str


class BarSegment(ViewStruct, frozen=True):
    """A part of a context's bar; `start` and `width` are percentages of the larger context."""

    name: str
    tokens: int
    start: float
    width: float


class Verdict(ViewStruct, frozen=True):
    """A few words on a replacement; `is_bad` if there was trouble or a fault."""

    text: str
    is_bad: bool


class Section(ViewStruct, frozen=True):
    """A replacement as a section of the page.

    `before` and `after` are the messages of both contexts, the bars their composition. `summary` is HTML,
    None if the event has none. `sealed_by` is the provider that alone can read a compaction, "" for none.
    """

    replacement: ReplacementView
    sizes: Sizes
    time: str
    is_open: bool
    verdicts: list[Verdict]
    facts: list[LabelledValue]
    bar_before: list[BarSegment]
    bar_after: list[BarSegment]
    before: list[Row]
    after: list[Row]
    summary: Markup | None
    sealed_by: str = ""


class Tick(ViewStruct, frozen=True):
    """A labelled position on an axis."""

    at: float
    label: str


class Mark(ViewStruct, frozen=True):
    """A marker on a chart that links to an event or its section; `kind` sets its appearance."""

    kind: str
    sign: str
    title: str
    target: str
    x: float
    y: float


class Chart(ViewStruct, frozen=True):
    """A chart over the entries of the path, in units of its view box.

    `area`, `line` and `second` (a second series, or "") are SVG paths. `points` lists `seq:value` for every
    entry, for reading values from the chart.
    """

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    area: str
    line: str
    second: str
    rows: list[Tick]
    columns: list[Tick]
    marks: list[Mark]
    points: str
    label: str


class TreeLine(ViewStruct, frozen=True):
    """A line of the tree: an entry, or a run of `hidden` entries from `seq` on."""

    level: int
    seq: int
    sign: str
    name: str
    text: str
    label: str
    is_leaf: bool
    is_aside: bool
    target: str
    hidden: int


class EventView(ViewStruct, frozen=True):
    """An event; `fate` is its status at the leaf, `taken_by` the event that removed it.

    `left_out` counts the characters of `text` that are not on the page; `show` is the command that prints all
    of it. `target` is the event's own section on the page, or "".
    """

    seq: int
    name: str
    line: str
    tokens: int | None
    time: str
    clock: str
    fate: str
    taken_by: int | None
    taken_sign: str
    label: str
    parent_seq: int
    facts: list[str]
    text: str
    left_out: int
    show: str
    target: str


class EventGroup(ViewStruct, frozen=True):
    """Consecutive events in the list; a browser lays them out only near the viewport."""

    first: int
    last: int
    day: str
    events: list[EventView]


class ReadLoss(ViewStruct, frozen=True):
    """A loss that a model read, and the name and number of its boundary."""

    loss: Loss
    name: str
    seq: int


class Unfounded(ViewStruct, frozen=True):
    """A sentence of a summary, at the event of this number, that nobody said."""

    sentence: str
    seq: int


class Page(ViewStruct, frozen=True):
    """The whole page; `is_estimate` if refold's own counts of tokens are estimates."""

    title: str
    session: str
    models: list[str]
    dates: str
    note: str
    is_estimate: bool
    gaps: list[str]
    not_computed: list[str]
    is_full: bool
    figures: list[Figure]
    losses: list[ReadLoss]
    broken_rules: list[Rule]
    unfounded: list[Unfounded]
    remarks: list[str]
    not_judged: str
    judge: str
    replacements: list[Section]
    worst: list[Section]
    context: Chart | None
    cost: Chart | None
    tree: list[TreeLine]
    groups: list[EventGroup]
    events: int
