"""The view model of an audit: plain values that terminal and HTML page render unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from cli.output import counted, one_line, safe_line
from cli.views.texts import SIGNS
from projections.audit.conditions import Condition, FilesAudit, rank
from projections.audit.cost import Spending
from projections.audit.measure import EventRef
from projections.audit.metrics import Metrics
from projections.audit.rework import Rework
from projections.audit.session import Audit, BranchSummaryAudit, CompactionAudit, RewriteAudit

AuditedReplacement = CompactionAudit | BranchSummaryAudit | RewriteAudit


class ViewStruct(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of view models."""


class Remark(ViewStruct, frozen=True):
    """A sentence about a condition; events are written as `#NUMBER`."""

    condition: Condition
    text: str


class ReplacementView(ViewStruct, frozen=True):
    """A compaction, a branch summary or a rewrite, with everything to show about it.

    `name` counts by kind: "compaction 2", "branch summary 1". `remarks` say what its conditions are. If a rewrite
    `came_with_compaction`, the compaction's metrics include its own.
    """

    result: AuditedReplacement
    kind: Literal["compaction", "branch_summary", "rewrite"]
    name: str
    is_undone: bool
    came_with_compaction: bool
    remarks: tuple[Remark, ...]

    @property
    def seq(self) -> int:
        """The number of its event."""
        return self.result.seq

    @property
    def metrics(self) -> Metrics:
        """All of its metrics."""
        return self.result.metrics

    @property
    def fetched(self) -> int | None:
        """The tokens of content that was fetched again; None if they could not be computed."""
        return self.metrics.rework.tokens if self.metrics.rework else None

    @property
    def said_next(self) -> Sequence[EventRef]:
        """The person's next messages; none if they could not be computed."""
        return self.metrics.next.messages if self.metrics.next else ()

    @property
    def refusals(self) -> Sequence[EventRef]:
        """The next calls that the person refused; none if they could not be computed."""
        return self.metrics.next.refusals if self.metrics.next else ()

    @property
    def uncovered(self) -> Sequence[EventRef]:
        """The messages that left the context with no summary covering them."""
        return self.result.uncovered if isinstance(self.result, CompactionAudit) else ()

    @property
    def grew(self) -> bool:
        """True if it is larger after than before, and should be smaller."""
        return Condition.LARGER in self.result.conditions

    @property
    def files(self) -> FilesAudit | None:
        """The files that it claims and those in the log; None for a rewrite, which claims none."""
        return None if isinstance(self.result, RewriteAudit) else self.result.files

    @property
    def sign(self) -> str:
        """The symbol of its kind."""
        return SIGNS[self.kind]


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

    `failed` counts compactions that were tried and failed, `uncovered` messages that no summary covers, `remarks`
    the conditions of its replacements, and `fetched` the tokens of content that was fetched again. Undone
    replacements are left out, and so are rewrites that came with a compaction, whose metrics include theirs.
    """

    session: str
    title: str
    compactions: int
    failed: int = 0
    uncovered: int = 0
    remarks: int = 0
    fetched: int = 0
    messages: int = 0
    refusals: int = 0
    spent: Spending | None

    @property
    def is_compacted(self) -> bool:
        """True if the session has a compaction, or one that failed."""
        return bool(self.compactions or self.failed)


class AuditView(ViewStruct, frozen=True):
    """An audit as shown in a terminal, on a page and by a CI gate; its JSON is `audit` itself.

    `replacements` are in log order, `worst` has the worst first.
    """

    audit: Audit
    replacements: tuple[ReplacementView, ...]
    worst: tuple[ReplacementView, ...]

    @property
    def counting(self) -> list[ReplacementView]:
        """The replacements that totals count, each thing once."""
        return [each for each in self.replacements if not each.is_undone and not each.came_with_compaction]

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
    def not_judged(self) -> str:
        """A sentence on the person's messages that follow, which nobody judged; "" for none."""
        judged = {each.boundary for each in self.audit.readings}
        unread = [each for each in self.counting if each.result.id not in judged]
        following = {ref.seq: ref for each in unread for ref in each.said_next}
        refusals = {ref.seq: ref for each in unread for ref in each.refusals}
        if not following:
            return ""
        verb = "follows" if len(following) == 1 else "follow"
        said = f"not judged: {counted(len(following), 'message')} of yours {verb}"
        if not refusals:
            return said
        refuse = "refuses" if len(refusals) == 1 else "refuse"
        return f"{said}, {len(refusals):,} {refuse} a call ({numbers(list(refusals.values()))})"

    @property
    def row(self) -> SessionRow:
        """The session in one line."""
        counting = self.counting
        return SessionRow(
            session=self.audit.session,
            title=one_line(self.audit.title, _LONGEST_TITLE),
            compactions=len(self.audit.compactions),
            failed=len(self.audit.failed_compactions),
            uncovered=sum(len(each.uncovered) for each in counting),
            remarks=sum(len(each.remarks) for each in counting),
            fetched=sum(each.fetched or 0 for each in counting),
            messages=len({ref.seq for each in counting for ref in each.said_next}),
            refusals=len({ref.seq for each in counting for ref in each.refusals}),
            spent=self.audit.cost.spent if self.audit.cost else None,
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


def _rank(each: ReplacementView) -> tuple[int, int, int]:
    return rank(len(each.uncovered), len(each.remarks), each.fetched or 0)


def _replacement(
    result: AuditedReplacement, kind: Literal["compaction", "branch_summary", "rewrite"], number: int
) -> ReplacementView:
    return ReplacementView(
        result=result,
        kind=kind,
        name=f"{kind.replace('_', ' ')} {number}",
        # A branch summary cannot be undone.
        is_undone=not isinstance(result, BranchSummaryAudit) and result.undone,
        came_with_compaction=isinstance(result, RewriteAudit) and result.compaction is not None,
        remarks=tuple(
            Remark(condition=condition, text=text)
            for condition in result.conditions
            for text in _remarks(result, condition)
        ),
    )


_LONGEST_TITLE: Final = 60
_NUMBERS: Final = 5
"""Events to name in a sentence; the rest are counted."""
_FILES: Final = 3
"""Files to name in a sentence; the rest are counted."""


def numbers(refs: Sequence[EventRef]) -> str:
    """Return the numbers of events as `#1, #2`, the first ones."""
    more = f" and {len(refs) - _NUMBERS:,} more" if len(refs) > _NUMBERS else ""
    return ", ".join(f"#{ref.seq}" for ref in refs[:_NUMBERS]) + more


def _remarks(result: AuditedReplacement, condition: Condition) -> Iterator[str]:
    """Yield a sentence about a condition that holds, two if files are missing and unfounded."""
    rework, size = result.metrics.rework, result.metrics.size
    match condition:
        case Condition.UNCOVERED if isinstance(result, CompactionAudit):
            yield _of_uncovered(result)
        case Condition.LARGER:
            yield f"the context is larger, recomputed: {size.before:,} -> {size.after:,} tokens"
        case Condition.NO_GAIN:
            yield f"the context is hardly smaller, recomputed: {size.before:,} -> {size.after:,} tokens"
        case Condition.QUICK if isinstance(result, CompactionAudit):
            answers = counted(result.answers_since or 0, "answer")
            yield f"it came {answers} of the model after the compaction before it"
        case Condition.FETCHED_AGAIN if rework:
            yield _of_fetched(rework)
        case Condition.FAILED_AGAIN if rework:
            failed = rework.failed
            first = failed[0]
            more = f", and {counted(len(failed) - 1, 'more call')}" if len(failed) > 1 else ""
            yield f"a call failed again at #{first.again.seq} as at #{first.first.seq}{more}"
        case Condition.FILES if not isinstance(result, RewriteAudit):
            yield from _of_files(result.files)
        case Condition.CLAIM if isinstance(result, CompactionAudit):
            before = result.before
            measured = "" if before.measured is None else f" measured {before.measured:,},"
            yield (
                f"its record claims {counted(before.claimed or 0, 'token')} before;{measured}"
                f" recomputed {before.recomputed:,}"
            )


def _of_uncovered(compaction: CompactionAudit) -> str:
    left, old = compaction.uncovered, compaction.old_summary
    messages = f"{counted(len(left), 'message')} ({numbers(left)})" if left else ""
    summary = f"the summary of #{old.seq}" if old else ""
    them = "it" if len(left) + bool(old) == 1 else "them"
    return f"{' and '.join(filter(None, (messages, summary)))} left the context, and no summary covers {them}"


def _of_fetched(rework: Rework) -> str:
    fetched = rework.fetched
    files = list(dict.fromkeys(each.file for each in fetched))
    tokens = counted(rework.tokens, "token")
    again = numbers([each.again for each in fetched])
    return f"{_named(files)} read again, {tokens} that the context had held: {again}"


def _of_files(files: FilesAudit) -> Iterator[str]:
    if files.missing:
        yield f"its list lacks {counted(len(files.missing), 'touched file')}: {_named(files.missing)}"
    if files.unfounded:
        yield f"its list has {counted(len(files.unfounded), 'file')} that no call touched: {_named(files.unfounded)}"


def _named(files: Sequence[str]) -> str:
    """Return the names of files without their folders, the first ones."""
    names = [safe_line(file.replace("\\", "/").rstrip("/").rpartition("/")[2]) for file in files[:_FILES]]
    more = f" and {len(files) - _FILES:,} more" if len(files) > _FILES else ""
    return ", ".join(names) + more
