"""The view model of an audit: plain values that terminal and HTML page render unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from cli.output import counted, one_line, safe_line
from cli.views.texts import SIGNS
from projections.audit.cost import Spending
from projections.audit.findings.finding import Finding, Weight, rank_of_finding
from projections.audit.metrics import Metrics, Rank, rank
from projections.audit.session import Audit, BranchSummaryAudit, CompactionAudit, FilesAudit, RewriteAudit

AuditedReplacement = CompactionAudit | BranchSummaryAudit | RewriteAudit


class ViewStruct(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of view models."""


class ReplacementView(ViewStruct, frozen=True):
    """A compaction, a branch summary or a rewrite, with everything to show about it.

    `name` counts by kind: "compaction 2", "branch summary 1". `counts` tells what was not there or came again;
    `remarks` lists other problems. `grew`: the context should have become smaller but did not (a branch
    summary is expected to add to its branch). If a rewrite `came_with_compaction`, the compaction's losses
    include its own.
    """

    result: AuditedReplacement
    kind: Literal["compaction", "branch_summary", "rewrite"]
    name: str
    grew: bool
    is_undone: bool
    came_with_compaction: bool
    counts: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def seq(self) -> int:
        """The number of its event."""
        return self.result.seq

    @property
    def findings(self) -> Sequence[Finding]:
        """Its findings, the worst first."""
        return self.result.findings

    def count(self, weight: Weight) -> int:
        """Return the number of findings of a weight."""
        return sum(each.weight == weight for each in self.findings)

    @property
    def metrics(self) -> Metrics:
        """All of its metrics."""
        return self.result.metrics

    @property
    def dropped(self) -> int:
        """The number of messages that left the context with no summary covering them."""
        return self.result.messages.dropped if isinstance(self.result, CompactionAudit) else 0

    @property
    def files(self) -> FilesAudit | None:
        """The files that it claims and those in the log; None for a rewrite, which claims none."""
        return None if isinstance(self.result, RewriteAudit) else self.result.files

    @property
    def sign(self) -> str:
        """The symbol of its kind."""
        return SIGNS[self.kind]


class FindingView(ViewStruct, frozen=True):
    """A finding, and the replacement that it is about."""

    replacement: ReplacementView
    finding: Finding

    @property
    def sentence(self) -> str:
        """The whole sentence; events are written as `#NUMBER`."""
        return f"After {self.replacement.name}, {self.finding.sentence}"


class Sizes(ViewStruct, frozen=True):
    """The tokens of the context before and after a replacement.

    `counted`: "measured" is the provider's count of the calls before and after; "estimated" and "exact" are
    refold's count of the messages.
    """

    before: int
    after: int
    counted: Literal["measured", "estimated", "exact"]


class SessionRow(ViewStruct, frozen=True, kw_only=True):
    """A session in one line.

    `failed` counts compactions that were tried and failed, `serious` and `minor` findings, `dropped` messages with
    no summary covering them, and `losses` things that were needed later. `future_use` is the smallest share among
    its replacements. Undone replacements are left out, and so are the totals of a rewrite that came with a
    compaction, whose losses include them.
    """

    session: str
    title: str
    compactions: int
    failed: int = 0
    dropped: int = 0
    serious: int = 0
    minor: int = 0
    future_use: float | None
    losses: int
    spent: Spending


class AuditView(ViewStruct, frozen=True):
    """An audit as shown in a terminal, on a page and by a CI gate; its JSON is `audit` itself.

    `replacements` are in log order, `worst` has the worst first.
    """

    audit: Audit
    replacements: tuple[ReplacementView, ...]
    worst: tuple[ReplacementView, ...]

    @property
    def findings(self) -> list[FindingView]:
        """All findings, the worst first; not those of undone replacements."""
        found = [
            FindingView(replacement=each, finding=finding)
            for each in self.replacements
            if not each.is_undone
            for finding in each.findings
        ]
        return sorted(found, key=lambda each: rank_of_finding(each.finding))

    @property
    def sizes(self) -> dict[int, Sizes]:
        """The size of each replacement by its event's number; measured if all of them were."""
        measured = {each.seq: _measured(each.result) for each in self.replacements}
        found = {seq: size for seq, size in measured.items() if size is not None}
        if len(found) == len(measured):
            return found
        counted: Literal["estimated", "exact"] = "estimated" if self.audit.estimate else "exact"
        return {
            each.seq: Sizes(before=each.metrics.size.before, after=each.metrics.size.after, counted=counted)
            for each in self.replacements
        }

    @property
    def has_missing_names(self) -> bool:
        """True if the model later used something that the context lacked; False if it was undone."""
        uses = (each.metrics.future_use for each in self.replacements if not each.is_undone)
        return any(use.found < use.total for use in uses)

    @property
    def row(self) -> SessionRow:
        """The session in one line."""
        measured = [each for each in self.replacements if not each.is_undone]
        shares = [each.metrics.future_use.share for each in measured]
        once = [each.metrics for each in measured if not each.came_with_compaction]
        return SessionRow(
            session=self.audit.session,
            title=one_line(self.audit.title, _LONGEST_TITLE),
            compactions=len(self.audit.compactions),
            failed=len(self.audit.failed_compactions),
            dropped=sum(each.dropped for each in measured),
            serious=sum(each.count("serious") for each in measured),
            minor=sum(each.count("minor") for each in measured),
            future_use=min((share for share in shares if share is not None), default=None),
            losses=sum(len(each.future_use.losses) for each in once),
            spent=self.audit.cost.spent,
        )


def audit_view(audit: Audit) -> AuditView:
    """Return the view model of an audit."""
    found = [
        *(_replacement(each, "compaction", at) for at, each in enumerate(audit.compactions, 1)),
        *(_replacement(each, "branch_summary", at) for at, each in enumerate(audit.branch_summaries, 1)),
        *(_replacement(each, "rewrite", at) for at, each in enumerate(audit.rewrites, 1)),
    ]
    return AuditView(
        audit=audit,
        replacements=tuple(sorted(found, key=lambda each: each.seq)),
        worst=tuple(sorted(found, key=lambda each: (_rank(each), each.seq))),
    )


def _measured(result: AuditedReplacement) -> Sizes | None:
    """Return the provider's counts for the calls before and after; None without both."""
    if (
        not isinstance(result, CompactionAudit)
        or result.before.measured is None
        or result.after.measured is None
    ):
        return None
    return Sizes(before=result.before.measured, after=result.after.measured, counted="measured")


def _rank(each: ReplacementView) -> Rank:
    use = each.metrics.future_use
    return rank(each.dropped, each.count("serious"), each.count("minor"), use.share, len(use.losses))


def _replacement(
    result: AuditedReplacement, kind: Literal["compaction", "branch_summary", "rewrite"], number: int
) -> ReplacementView:
    grew = result.metrics.size.grew and kind != "branch_summary"
    return ReplacementView(
        result=result,
        kind=kind,
        name=f"{kind.replace('_', ' ')} {number}",
        grew=grew,
        # A branch summary cannot be undone.
        is_undone=not isinstance(result, BranchSummaryAudit) and result.undone,
        came_with_compaction=isinstance(result, RewriteAudit) and result.compaction is not None,
        counts=tuple(_counts(result)),
        remarks=tuple(_remarks(result, grew=grew)),
    )


_LONGEST_TITLE: Final = 60
_TOLERANCE: Final = 0.1
"""Accepted relative difference between a claim and a count, because no two counters agree."""


def _remarks(result: AuditedReplacement, *, grew: bool) -> Iterator[str]:
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
        yield f"its summary lacks {lacking} that its template asks for: {_listed(sections.missing)}"
    if sections and sections.duplicated:
        yield f"its summary repeats sections: {_listed(sections.duplicated)}"


def _of_files(files: FilesAudit) -> Iterator[str]:
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
    return ", ".join(map(safe_line, headings))


def _counts(result: AuditedReplacement) -> Iterator[str]:
    metrics = result.metrics
    if metrics.future_use.losses:
        yield f"{len(metrics.future_use.losses):,} needed later and not there"
    if metrics.instructions.gone:
        yield f"{counted(metrics.instructions.gone, 'rule')} not found"
    if metrics.rework.repeated:
        yield f"{counted(metrics.rework.repeated, 'call')} repeated"
    if metrics.rework.errors:
        yield f"{counted(len(metrics.rework.errors), 'error')} met again"
