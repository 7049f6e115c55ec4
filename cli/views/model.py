"""What is shown of a session, as plain values: a terminal and a page lay it out and decide nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from cli.output import counted, one_line, unbroken
from cli.views.texts import SIGNS
from projections.audit.metrics import Metrics, worst_first
from projections.audit.session import Audit, BranchSummaryAudit, CompactionAudit, Files, RewriteAudit

if TYPE_CHECKING:
    from markupsafe import Markup

Replaced = CompactionAudit | BranchSummaryAudit | RewriteAudit


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything that is shown."""


class ReplacementView(View, frozen=True):
    """A compaction, a branch summary or a rewrite, with everything that is said of it.

    `name` counts by kind: "compaction 2", "branch summary 1". `losses` are what was lost by it, in a few words each;
    `remarks` are what else is not as it should be, the worst first. `grew`: the context should have got smaller, and
    did not; a branch summary adds to the branch that was gone to. A rewrite that `came_with_compaction` lost the same
    as the compaction did.
    """

    result: Replaced
    kind: Literal["compaction", "branch_summary", "rewrite"]
    name: str
    grew: bool
    is_undone: bool
    came_with_compaction: bool
    losses: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def seq(self) -> int:
        """The number of its event."""
        return self.result.seq

    @property
    def metrics(self) -> Metrics:
        """Everything that was measured of it."""
        return self.result.metrics

    @property
    def files(self) -> Files | None:
        """The files that it lists and those of the log; None for a rewrite, which lists none."""
        return None if isinstance(self.result, RewriteAudit) else self.result.files

    @property
    def sign(self) -> str:
        """The sign of its kind."""
        return SIGNS[self.kind]


class SessionRow(View, frozen=True, kw_only=True):
    """A session in a line.

    `future_use` is the smallest share that a replacement has, `losses` and `gone` count those of all; what was
    undone is left out, and so is in the sums what a rewrite lost that came with a compaction: that lost the same.
    `earlier` is the session's generation before this one. `cost` is in dollars, as recorded, or else by the table.
    """

    session: str
    earlier: str | None = None
    title: str
    compactions: int
    future_use: float | None
    losses: int
    gone: int
    cost: float | None


class AuditView(View, frozen=True):
    """An audit as a terminal, a page and a gate show it; its JSON is `audit` itself.

    `replacements` are in order of the log, `worst` has them the worst first.
    """

    audit: Audit
    replacements: tuple[ReplacementView, ...]
    worst: tuple[ReplacementView, ...]

    @property
    def row(self) -> SessionRow:
        """The session in a line."""
        measured = [each for each in self.replacements if not each.is_undone]
        shares = [each.metrics.future_use.share for each in measured]
        once = [each.metrics for each in measured if not each.came_with_compaction]
        spent = self.audit.cost.spent
        return SessionRow(
            session=self.audit.session,
            earlier=self.audit.earlier,
            title=one_line(self.audit.title, _LONGEST_TITLE),
            compactions=len(self.audit.compactions),
            future_use=min((share for share in shares if share is not None), default=None),
            losses=sum(len(each.future_use.losses) for each in once),
            gone=sum(each.instructions.gone for each in once),
            cost=spent.priced if spent.recorded is None else spent.recorded,
        )


def audit_view(audit: Audit) -> AuditView:
    """Return what is shown of an audit."""
    found = [
        *(_replacement(each, "compaction", at) for at, each in enumerate(audit.compactions, 1)),
        *(_replacement(each, "branch_summary", at) for at, each in enumerate(audit.branch_summaries, 1)),
        *(_replacement(each, "rewrite", at) for at, each in enumerate(audit.rewrites, 1)),
    ]
    return AuditView(
        audit=audit,
        replacements=tuple(sorted(found, key=lambda each: each.seq)),
        worst=tuple(worst_first(found)),
    )


def _replacement(
    result: Replaced, kind: Literal["compaction", "branch_summary", "rewrite"], number: int
) -> ReplacementView:
    grew = result.metrics.size.grew and kind != "branch_summary"
    return ReplacementView(
        result=result,
        kind=kind,
        name=f"{kind.replace('_', ' ')} {number}",
        grew=grew,
        # A branch summary never is.
        is_undone=not isinstance(result, BranchSummaryAudit) and result.undone,
        came_with_compaction=isinstance(result, RewriteAudit) and result.compaction is not None,
        losses=tuple(_losses(result.metrics)),
        remarks=tuple(_remarks(result, grew=grew)),
    )


_LONGEST_TITLE: Final = 60
_TOLERANCE: Final = 0.1
"""How far a claim may be from a count: no two counters agree."""


def _remarks(result: Replaced, *, grew: bool) -> Iterator[str]:
    if isinstance(result, CompactionAudit) and result.messages.dropped:
        yield f"{counted(result.messages.dropped, 'message')} left the context with no summary covering them"
    if grew:
        yield "the context did not get smaller"
    if not isinstance(result, RewriteAudit):
        if not result.summary.strip():
            yield "its summary is empty"
        yield from _of_sections(result.metrics)
        yield from _of_files(result.files)
    if isinstance(result, CompactionAudit):
        yield from _of_claim(result)


def _of_sections(metrics: Metrics) -> Iterator[str]:
    sections = metrics.sections
    if sections and sections.fits and sections.missing:
        lacking = counted(len(sections.missing), "section")
        yield f"its summary lacks {lacking} of its template: {_listed(sections.missing)}"
    if sections and sections.duplicated:
        yield f"its summary has sections more than once: {_listed(sections.duplicated)}"


def _of_files(files: Files) -> Iterator[str]:
    if files.missing:
        yield f"{counted(len(files.missing), 'touched file')} that its list lacks"
    if files.unfounded:
        yield f"{counted(len(files.unfounded), 'file')} in its list that no call touched"


def _of_claim(compaction: CompactionAudit) -> Iterator[str]:
    before = compaction.before
    claimed, counts = before.claimed, [count for count in (before.measured, before.recomputed) if count]
    if claimed is not None and counts and not any(_is_near(claimed, count) for count in counts):
        measured = "" if before.measured is None else f" measured {before.measured:,},"
        yield f"it claims {counted(claimed, 'token')} before;{measured} recomputed {before.recomputed:,}"


def _is_near(claimed: int, count: int) -> bool:
    return abs(claimed - count) <= _TOLERANCE * count


def _listed(headings: list[str]) -> str:
    return ", ".join(map(unbroken, headings))


def _losses(metrics: Metrics) -> Iterator[str]:
    if metrics.future_use.losses:
        use = metrics.future_use
        yield f"{len(use.losses):,} needed later and lost, {use.never_regained:,} never given back"
    if metrics.instructions.gone:
        yield f"{counted(metrics.instructions.gone, 'instruction')} gone"
    if metrics.regret.repeated:
        yield f"{counted(metrics.regret.repeated, 'call')} repeated"
    if metrics.regret.errors:
        yield f"{counted(len(metrics.regret.errors), 'error')} met again"


class Figure(View, frozen=True):
    """A number at the head of the page: what it is, the number, what to know of it."""

    name: str
    value: str
    note: str


class Fact(View, frozen=True):
    """A name and a value, or the number of the event that the value is; 0 for none."""

    name: str
    value: str = ""
    seq: int = 0


class Row(View, frozen=True):
    """A message in the context before or after a replacement; `fate` is one of `projections.diff.Change`.

    `losses` counts the things that it named first, that were needed later and lost.
    """

    seq: int
    name: str
    text: str
    tokens: int
    fate: str
    losses: int


class Segment(View, frozen=True):
    """A part of a bar that stands for a whole context: `start` and `width` in percent of the larger one."""

    name: str
    tokens: int
    start: float
    width: float


class Finding(View, frozen=True):
    """A remark on a replacement in a few words; `is_bad` where something was lost by it."""

    text: str
    is_bad: bool


class Section(View, frozen=True):
    """A replacement as a section of the page.

    `before` and `after` are the messages of both contexts, the bars what these are made of. `summary` is HTML, None
    where the event has none.
    """

    replacement: ReplacementView
    time: str
    is_open: bool
    findings: list[Finding]
    facts: list[Fact]
    bar_before: list[Segment]
    bar_after: list[Segment]
    before: list[Row]
    after: list[Row]
    summary: Markup | None


class Tick(View, frozen=True):
    """A labelled place on an axis."""

    at: float
    label: str


class Mark(View, frozen=True):
    """A place of a chart that leads to an event or its section; `kind` is how it looks."""

    kind: str
    sign: str
    title: str
    target: str
    x: float
    y: float


class Chart(View, frozen=True):
    """A chart over the entries of the path, in units of its view box.

    `area`, `line` and `second` (a second series, "" for none) are SVG paths. `points` are `seq:value` of every
    entry, for reading values off.
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


class TreeLine(View, frozen=True):
    """A line of the tree: an entry, or a run of `hidden` entries from `seq` on in which nothing turns."""

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


class EventView(View, frozen=True):
    """An event: `fate` is what became of it in the context at the leaf, `taken_by` the event that took it out of there.

    `left_out` counts the characters of `text` that are not on the page; `show` is the command that prints all.
    `target` is the event's own section on the page, "" for none.
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


class EventGroup(View, frozen=True):
    """Events that stand together in the list, so that a browser lays them out only when they are near."""

    first: int
    last: int
    day: str
    events: list[EventView]


class Page(View, frozen=True):
    """The whole page."""

    title: str
    session: str
    models: list[str]
    dates: str
    note: str
    is_full: bool
    figures: list[Figure]
    replacements: list[Section]
    worst: list[Section]
    context: Chart | None
    cost: Chart | None
    tree: list[TreeLine]
    groups: list[EventGroup]
    events: int
