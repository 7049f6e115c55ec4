"""What is shown of a session, as plain values: a terminal and a page lay it out and decide nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from cli.output import counted, unbroken
from cli.views.texts import line_of
from projections.audit.metrics import Metrics
from projections.audit.session import Audit, BranchSummaryAudit, CompactionAudit, Files, RewriteAudit

if TYPE_CHECKING:
    from markupsafe import Markup

Replaced = CompactionAudit | BranchSummaryAudit | RewriteAudit


def replacements(audit: Audit) -> list[Replaced]:
    """Compactions, branch summaries and rewrites, in order of the log."""
    found: list[Replaced] = [*audit.compactions, *audit.branch_summaries, *audit.rewrites]
    return sorted(found, key=lambda each: each.seq)


def counted_once(audit: Audit) -> list[Replaced]:
    """Those whose losses can be summed: in effect, and no rewrites that came with a compaction, which lost the same."""
    without_effect = undone(audit)
    return [
        each
        for each in replacements(audit)
        if each.seq not in without_effect and not came_with_compaction(each)
    ]


def came_with_compaction(replaced: Replaced) -> bool:
    """Whether it is a rewrite that was appended with a compaction."""
    return isinstance(replaced, RewriteAudit) and replaced.compaction is not None


def names(audit: Audit) -> dict[int, str]:
    """From the number of a replacement's event to its name: `compaction 2`, `branch summary 1`, `rewrite 3`."""
    kinds: tuple[tuple[str, Sequence[Replaced]], ...] = (
        ("compaction", audit.compactions),
        ("branch summary", audit.branch_summaries),
        ("rewrite", audit.rewrites),
    )
    return {each.seq: f"{kind} {number}" for kind, found in kinds for number, each in enumerate(found, 1)}


def grew(replaced: Replaced) -> bool:
    """Whether a context did not get smaller that should have; a branch summary adds to the branch that is gone to."""
    return replaced.metrics.size.grew and not isinstance(replaced, BranchSummaryAudit)


def undone(audit: Audit) -> set[int]:
    """The numbers of the replacements that are without effect at the leaf; a branch summary never is."""
    undoable: list[CompactionAudit | RewriteAudit] = [*audit.compactions, *audit.rewrites]
    return {each.seq for each in undoable if each.undone}


_TOLERANCE: Final = 0.1
"""How far a claim may be from a count: no two counters agree."""


def remarks(replaced: Replaced) -> list[str]:
    """What a reader has to know, the worst first."""
    found: list[str] = []
    if isinstance(replaced, CompactionAudit) and replaced.messages.dropped:
        dropped = counted(replaced.messages.dropped, "message")
        found.append(f"{dropped} left the context with no summary covering them")
    if grew(replaced):
        found.append("the context did not get smaller")
    if not isinstance(replaced, RewriteAudit):
        found += ["its summary is empty"] if not replaced.summary.strip() else []
        found += _of_sections(replaced.metrics)
        found += _of_files(replaced.files)
    if isinstance(replaced, CompactionAudit):
        found += _of_claim(replaced)
    return found


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


_LONGEST: Final = 90


def findings(replaced: Replaced, *, is_undone: bool) -> list[Finding]:
    """What a reader should know before anything else: what was lost by it, or that nothing was."""
    texts = (*_losses(replaced), *remarks(replaced))
    bad = [Finding(text=line_of(text, _LONGEST), is_bad=True) for text in texts]
    undone = [Finding(text="undone", is_bad=False)] if is_undone else []
    return [*undone, *(bad or [Finding(text="nothing lost that was needed", is_bad=False)])]


def _losses(replaced: Replaced) -> Iterator[str]:
    metrics = replaced.metrics
    if metrics.future_use.losses:
        use = metrics.future_use
        yield f"{len(use.losses):,} needed later and lost, {use.never_regained:,} never given back"
    if metrics.instructions.gone:
        yield f"{counted(metrics.instructions.gone, 'instruction')} gone"
    if metrics.regret.repeated:
        yield f"{counted(metrics.regret.repeated, 'call')} repeated"
    if metrics.regret.errors:
        yield f"{counted(len(metrics.regret.errors), 'error')} met again"


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what a page is made of."""


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
    """What is notable of a replacement in a few words; `is_bad` where something was lost by it."""

    text: str
    is_bad: bool


class ReplacementView(View, frozen=True):
    """A compaction, a branch summary or a rewrite.

    `sign` tells the three apart. `before` and `after` are the messages of both contexts, the bars what these are
    made of. `summary` is HTML, None where the event has none. `files` is None for rewrites. `grew`: the context should
    have got smaller, and did not; a branch summary adds to the branch that was gone to.
    """

    seq: int
    id: str
    kind: str
    sign: str
    name: str
    time: str
    is_undone: bool
    is_open: bool
    findings: list[Finding]
    facts: list[Fact]
    metrics: Metrics
    grew: bool
    files: Files | None
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
    replacements: list[ReplacementView]
    worst: list[ReplacementView]
    context: Chart | None
    cost: Chart | None
    tree: list[TreeLine]
    groups: list[EventGroup]
    events: int
