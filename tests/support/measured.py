"""Audits with figures that a test gives; what it does not give is as if nothing was there to find."""

from __future__ import annotations

from typing import Any

from eventstore.records import FileOperations
from projections.audit.cache import CacheEffect, CacheHistory
from projections.audit.conditions import FilesAudit, TokensBefore
from projections.audit.cost import Cost, SessionCost, Spending
from projections.audit.measure import EventRef, Size
from projections.audit.metrics import Metrics, NextMessage, PersonNext
from projections.audit.rework import FailedAgain, FetchedAgain, Rework
from projections.audit.session import (
    Audit,
    BranchSummaryAudit,
    CompactionAudit,
    Counts,
    Producer,
    RewriteAudit,
    TokensAfter,
)

TIME = "2026-03-04T11:22:33.000Z"


def size(before: int = 1000, after: int = 100, **fields: Any) -> Size:
    """Sizes of a replacement that kept nothing."""
    given = {"removed": before, "kept": 0, "added": after, "returned": 0, "restored": 0}
    given |= fields
    return Size(
        before=before,
        after=after,
        removed_share=given["removed"] / before if before else None,
        ratio=given["added"] / given["removed"] if given["removed"] else None,
        grew=after >= before,
        **given,
    )


NO_REWORK = Rework(calls=0, fetched=[], failed=[])
NOBODY = PersonNext(messages=[])
NO_CACHE = CacheEffect(
    shared_messages=0,
    shared_tokens=0,
    rewritten_tokens=0,
    call=None,
    recorded_read=None,
    recorded_write=None,
)
NO_COST = Cost(
    model=None,
    calls=0,
    summary=None,
    is_estimate=False,
    rewrite=None,
    saved=None,
    net=None,
    window=None,
    too_long=0,
)


def ref(seq: int) -> EventRef:
    """An event by its number."""
    return EventRef(event=f"e{seq}", seq=seq)


def redone(*files: str, again: int = 9) -> Rework:
    """Of seven calls, each of these files read again with 100 tokens, and a command that failed again."""
    return Rework(
        calls=7,
        fetched=[FetchedAgain(file=file, first=ref(1), again=ref(again), tokens=100) for file in files],
        failed=[FailedAgain(tool="bash", target="make", first=ref(2), again=ref(again + 1))],
    )


def followed(*messages: int, refusals: tuple[int, ...] = ()) -> PersonNext:
    """Messages of the person, and the refusals among them."""
    return PersonNext(
        messages=[NextMessage(event=f"e{each}", seq=each, refuses=each in refusals) for each in messages]
    )


def metrics(**given: Any) -> Metrics:
    """Metrics; those that are not given found nothing."""
    nothing: dict[str, Any] = {
        "size": size(),
        "rework": NO_REWORK,
        "next": NOBODY,
        "cache": NO_CACHE,
        "cost": NO_COST,
    }
    return Metrics(**{**nothing, **given})


NO_FILES = FilesAudit(
    claimed=None, recomputed=FileOperations(read_files=[], modified_files=[]), missing=[], unfounded=[]
)


def compaction(seq: int, **given: Any) -> CompactionAudit:
    """The audit of a compaction; what is given beyond its own fields are metrics."""
    own: dict[str, Any] = {
        "id": f"c{seq}",
        "seq": seq,
        "time": TIME,
        "by": Producer(format="pi/3", model="p/m", from_extension=False, reason="", policy="", template=""),
        "undone": False,
        "first_kept": None,
        "before": TokensBefore(
            claimed=None, measured=None, measured_at=None, recomputed=1000, unexplained=None
        ),
        "after": TokensAfter(claimed=None, measured=None, measured_at=None, recomputed=100),
        "messages": Counts(summarized=9, kept=0, uncovered=0),
        "uncovered": [],
        "old_summary": None,
        "answers_since": None,
        "summary": "What was done.",
        "summary_tokens": 4,
        "missing_sections": [],
        "files": NO_FILES,
        "conditions": [],
    }
    return CompactionAudit(**_with_metrics(own, given))


def branch_summary(seq: int, **given: Any) -> BranchSummaryAudit:
    """The audit of a branch summary, likewise."""
    own: dict[str, Any] = {
        "id": f"s{seq}",
        "seq": seq,
        "time": TIME,
        "attached_to": "e1",
        "left": "e9",
        "entries": 3,
        "summary": "What was tried.",
        "files": NO_FILES,
        "conditions": [],
    }
    return BranchSummaryAudit(**_with_metrics(own, given))


def rewrite(seq: int, **given: Any) -> RewriteAudit:
    """The audit of a rewrite, likewise."""
    own: dict[str, Any] = {
        "id": f"w{seq}",
        "seq": seq,
        "time": TIME,
        "reason": "prune",
        "undone": False,
        "compaction": None,
        "targets": ["e1"],
        "tokens_saved": 900,
        "conditions": [],
    }
    return RewriteAudit(**_with_metrics(own, given))


def _with_metrics(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    measured = {name: value for name, value in given.items() if name not in own}
    return {**own, **{name: given[name] for name in own if name in given}, "metrics": metrics(**measured)}


def spent(
    calls: int = 0, recorded: float | None = None, priced: float | None = None, **fields: Any
) -> Spending:
    """Return the spending of some calls."""
    known = priced if recorded is None else recorded
    unknown = {"unrecorded": 0, "unpriced": 0, "cost": known, "without_cost": 0, **fields}
    return Spending(calls=calls, recorded=recorded, priced=priced, **unknown)


def audit(
    *replaced: CompactionAudit | BranchSummaryAudit | RewriteAudit,
    session: str = "s",
    title: str = "A title",
    cost: Spending | None = None,
    **fields: Any,
) -> Audit:
    """The audit of a session in which these replacements happened."""
    given: dict[str, Any] = {
        "session": session,
        "earlier": None,
        "original": None,
        "title": title,
        "leaf": "e99",
        "events": 99,
        "entries": 99,
        "counter": "utf16/4",
        "exact": False,
        "estimate": True,
        "note": "",
        "context_tokens": 1234,
        "context_messages": 5,
        "gaps": [],
        "failed_compactions": [],
        "cost": SessionCost(prices="a table", prices_date="", spent=cost or spent()),
        "cache": CacheHistory(written=0, unread=0),
        **fields,
    }
    return Audit(
        compactions=[each for each in replaced if isinstance(each, CompactionAudit)],
        branch_summaries=[each for each in replaced if isinstance(each, BranchSummaryAudit)],
        rewrites=[each for each in replaced if isinstance(each, RewriteAudit)],
        readings=[],
        given_back=[],
        not_computed=[],
        **given,
    )
