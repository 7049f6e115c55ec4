"""An audit in full: all of each compaction, branch summary and rewrite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.audit_view.glance import print_glance
from cli.audit_view.lines import print_field, print_rule, print_summary
from cli.audit_view.measured import print_metrics
from cli.audit_view.remarks import remarks
from cli.output import counted, thousands, unbroken

if TYPE_CHECKING:
    from rich.console import Console

    from cli.replaced import Replaced
    from projections.audit import Audit, BranchSummaryAudit, CompactionAudit, Files, RewriteAudit

_BAR: Final = 40


def print_full(out: Console, audit: Audit) -> None:
    """One session, replacement for replacement, in order of the log within each kind."""
    print_glance(out, audit)
    out.print()
    for number, compaction in enumerate(audit.compactions, 1):
        _compaction(out, compaction, f"Compaction {number} of {len(audit.compactions)}", audit)
    for summary in audit.branch_summaries:
        _branch_summary(out, summary, audit)
    for rewrite in audit.rewrites:
        _rewrite(out, rewrite)


def _compaction(out: Console, each: CompactionAudit, heading: str, audit: Audit) -> None:
    print_rule(out, heading, each.id, each.seq, each.time, is_undone=each.undone)
    _remarks(out, each)
    by = [each.by.model or "no model", each.by.format]
    by += [
        f"{name} {value}" for name, value in (("reason", each.by.reason), ("policy", each.by.policy)) if value
    ]
    by += ["by an extension"] if each.by.from_extension else []
    print_field(out, "by", " · ".join(by))
    _tokens(out, each)
    counts = each.messages
    print_field(
        out,
        "messages",
        f"{counts.summarized:,} summarized · {counts.kept:,} kept"
        + (f" from {each.first_kept} on" if each.first_kept else "")
        + f" · {counts.dropped:,} dropped with no summary covering them",
        style="bold red" if counts.dropped else "",
    )
    _files(out, each.files)
    print_metrics(out, each.metrics)
    print_field(out, "summary", f"{counted(each.summary_tokens, 'token')} ({audit.counter})")
    print_summary(out, each.summary)
    out.print()


def _tokens(out: Console, each: CompactionAudit) -> None:
    before, after = each.before, each.after
    measured = f"{thousands(before.measured)} measured at {before.measured_at}" if before.measured_at else ""
    unexplained = "" if before.unexplained is None else f"{before.unexplained:+,} that the log cannot explain"
    facts = [
        f"{thousands(before.claimed)} claimed",
        measured,
        f"{before.recomputed:,} recomputed",
        unexplained,
    ]
    print_field(out, "before", " · ".join(filter(None, facts)))
    claimed = f"{after.claimed:,} claimed" if after.claimed is not None else ""
    sent = f"{thousands(after.measured)} sent at the next call, {after.measured_at}"
    facts = [claimed, f"{after.recomputed:,} recomputed", sent if after.measured_at else ""]
    print_field(out, "after", " · ".join(filter(None, facts)))
    print_field(out, "", _bar(before.recomputed, after.recomputed))


def _bar(before: int, after: int) -> str:
    filled = round(_BAR * after / before) if before else _BAR
    filled = min(max(filled, 1 if after else 0), _BAR)
    share = f"{after / before:.0%} left" if before else ""
    return "█" * filled + "░" * (_BAR - filled) + f" {share}"


def _files(out: Console, files: Files) -> None:
    log = f"{len(files.recomputed.read_files)} read, {len(files.recomputed.modified_files)} modified"
    if files.claimed is None:
        print_field(out, "files", f"no claim · {log} by the log")
        return
    claim = f"{len(files.claimed.read_files)} read, {len(files.claimed.modified_files)} modified claimed"
    agreement = "" if files.missing or files.unfounded else " · they agree"
    print_field(out, "files", f"{claim} · {log} by the log{agreement}")
    for name, paths in (("missing", files.missing), ("unfounded", files.unfounded)):
        for path in paths:
            print_field(out, "", f"{name}: {unbroken(path)}", style="red")


def _branch_summary(out: Console, each: BranchSummaryAudit, audit: Audit) -> None:
    print_rule(out, "Branch summary", each.id, each.seq, each.time)
    _remarks(out, each)
    entries = counted(each.entries, "entry", "entries")
    print_field(out, "left", f"{entries} up to {each.left or 'an entry that the log does not name'}")
    print_field(out, "at", each.attached_to or "the root")
    _files(out, each.files)
    print_metrics(out, each.metrics)
    print_field(out, "summary", f"{counted(each.metrics.size.added, 'token')} ({audit.counter})")
    print_summary(out, each.summary)
    out.print()


def _rewrite(out: Console, each: RewriteAudit) -> None:
    print_rule(out, "Rewrite", each.id, each.seq, each.time, is_undone=each.undone)
    _remarks(out, each)
    print_field(out, "reason", each.reason)
    print_field(out, "targets", f"{counted(len(each.targets), 'message')}: {', '.join(each.targets)}")
    print_field(out, "saved", f"{counted(each.tokens_saved, 'token')}, by its own count")
    print_metrics(out, each.metrics)
    out.print()


def _remarks(out: Console, replaced: Replaced) -> None:
    for remark in remarks(replaced):
        print_field(out, "!", remark, style="bold red")
