"""Audits with figures that a test gives; what it does not give is as if nothing was there to find."""

from __future__ import annotations

from typing import Any

from eventstore.records import FileOperations
from projections.audit.cache import CacheEffect, CacheHistory
from projections.audit.cost import Cost, SessionCost, Spending
from projections.audit.findings.finding import Finding
from projections.audit.future_use import FutureUse, Loss
from projections.audit.instruction_fates import Instructions, Rule
from projections.audit.losses import KindRecall, Recall
from projections.audit.measure import Size, share_of
from projections.audit.metrics import Metrics
from projections.audit.rework import RepeatedCall, RepeatedError, Rereads, Rework
from projections.audit.session import (
    Audit,
    BranchSummaryAudit,
    CompactionAudit,
    Counts,
    FilesAudit,
    Producer,
    RewriteAudit,
    TokensAfter,
    TokensBefore,
)

TIME = "2026-03-04T11:22:33.000Z"


def finding(weight: str = "minor", *, kind: str = "objection", **fields: Any) -> Finding:
    """A finding; what it says does not matter."""
    own = {"sentence": "something was missed.", "known": [], "trouble": [], "names": []}
    return Finding(**{"kind": kind, "weight": weight, **own, **fields})


def size(before: int = 1000, after: int = 100, **fields: Any) -> Size:
    """Sizes of a replacement that kept nothing."""
    given = {"removed": before, "kept": 0, "added": after, "returned": 0, **fields}
    return Size(
        before=before,
        after=after,
        removed_share=given["removed"] / before if before else None,
        ratio=given["added"] / given["removed"] if given["removed"] else None,
        grew=after >= before,
        **given,
    )


def loss(value: str, *, had: int = 1, needed: int = 20) -> Loss:
    """A symbol that was lost."""
    return Loss(
        kind="symbol",
        value=value,
        had=f"e{had}",
        had_seq=had,
        needed=f"e{needed}",
        needed_seq=needed,
    )


def future_use(found: int = 0, total: int = 0, *losses: Loss) -> FutureUse:
    """Future use; what is neither found nor given as a loss was named again."""
    share = share_of(found, total).share
    return FutureUse(
        messages=5,
        total=total,
        found=found,
        share=share,
        earlier=0,
        given=max(0, total - found - len(losses)),
        searched=0,
        reread=0,
        common=0,
        kinds=[],
        losses=list(losses),
    )


def recall(**found_and_total: tuple[int, int]) -> Recall:
    """Recall by kind: `paths_read=(1, 2)`."""
    kinds = []
    for name, (found, total) in found_and_total.items():
        share = share_of(found, total).share
        kinds.append(KindRecall(kind=name.replace("_", "-"), total=total, found=found, share=share, lost=[]))
    total = share_of(sum(kind.found for kind in kinds), sum(kind.total for kind in kinds))
    return Recall(total=total.total, found=total.found, share=total.share, kinds=kinds)


def gone(text: str, seq: int = 1, **fields: Any) -> Rule:
    """A rule that is gone."""
    given = {"broken_by": [], "repeated_by": [], **fields}
    return Rule(text=text, event=f"e{seq}", seq=seq, state="gone", similarity=0.25, nearest="a line", **given)


def instructions(total: int = 0, *lost: Rule) -> Instructions:
    """So many rules, all of them kept but those that are gone."""
    share = share_of(total - len(lost), total).share
    return Instructions(
        total=total,
        kept=total - len(lost),
        gone=len(lost),
        tail=0,
        share=share,
        rules=list(lost),
        tasks=0,
        unfinished=[],
    )


NO_REWORK = Rework(
    calls=0,
    repeated=0,
    rereads=Rereads(next3=0, next10=0, all=0),
    rounds_to_new_action=None,
    repeats=[],
    errors=[],
)
NO_CACHE = CacheEffect(
    shared_messages=0,
    shared_tokens=0,
    rewritten_tokens=0,
    call=None,
    predicted_read=None,
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


def repeated() -> Rework:
    """One of seven calls made again, and one error met again, each of #1 at #9."""
    again = {"first": "e1", "first_seq": 1, "again": "e9", "again_seq": 9}
    return Rework(
        calls=7,
        repeated=1,
        rereads=Rereads(next3=0, next10=1, all=2),
        rounds_to_new_action=1,
        repeats=[RepeatedCall(tool="read", target="a.py", after_calls=4, **again)],
        errors=[RepeatedError(error="FAILED", **again)],
    )


def metrics(**given: Any) -> Metrics:
    """Metrics; those that are not given found nothing."""
    nothing: dict[str, Any] = {
        "size": size(),
        "recall": recall(),
        "future_use": future_use(),
        "instructions": instructions(),
        "rework": NO_REWORK,
        "sections": None,
        "growth": None,
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
        "messages": Counts(summarized=9, kept=0, dropped=0),
        "dropped": [],
        "summary": "What was done.",
        "summary_tokens": 4,
        "files": NO_FILES,
        "findings": [],
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
        "findings": [],
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
        "findings": [],
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
        "cost": SessionCost(prices="a table", prices_date="", spent=cost or spent(), models=[]),
        "cache": CacheHistory(calls=0, close=0, share=None, predicted=0, recorded=0, reads=[]),
        **fields,
    }
    return Audit(
        compactions=[each for each in replaced if isinstance(each, CompactionAudit)],
        branch_summaries=[each for each in replaced if isinstance(each, BranchSummaryAudit)],
        rewrites=[each for each in replaced if isinstance(each, RewriteAudit)],
        **given,
    )
