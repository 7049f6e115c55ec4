"""What an audit has of replacements, whatever their kind, and what each is called."""

from __future__ import annotations

from collections.abc import Sequence

from projections.audit import Audit, BranchSummaryAudit, CompactionAudit, RewriteAudit

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
