"""How an audit looks in a terminal: at a glance first, then each compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.output import counted, one_line, printable, table, thousands, unbroken

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from projections.audit import Audit, BranchSummaryAudit, CompactionAudit, Files, RewriteAudit

_BAR: Final = 40
_INDENT: Final = 12


def print_audit(out: Console, audit: Audit, *, is_brief: bool = False) -> None:
    """One session: at a glance, then each compaction, branch summary and rewrite; brief, without the summaries."""
    _glance(out, audit)
    for number, compaction in enumerate(audit.compactions, 1):
        _compaction(out, compaction, f"Compaction {number} of {len(audit.compactions)}", audit)
        _summary(out, compaction.summary, is_brief=is_brief)
    for summary in audit.branch_summaries:
        _branch_summary(out, summary)
        _summary(out, summary.summary, is_brief=is_brief)
    for rewrite in audit.rewrites:
        _rewrite(out, rewrite)


def _glance(out: Console, audit: Audit) -> None:
    """What happened to a session, on one screen."""
    _print(out, unbroken(audit.session), style="bold")
    _print(out, one_line(audit.title, min(out.width, 100)))
    facts = [
        counted(audit.entries, "entry", "entries"),
        counted(len(audit.compactions), "compaction"),
        counted(len(audit.branch_summaries), "branch summary", "branch summaries"),
        counted(len(audit.rewrites), "rewrite"),
    ]
    _print(out, " · ".join(facts), style="dim")
    messages, tokens = counted(audit.context_messages, "message"), counted(audit.context_tokens, "token")
    _print(out, f"context now {messages}, {tokens}", style="dim")
    how = f"recomputed by {audit.counter}" + (", exact" if audit.exact else ", an estimate")
    _print(out, f"{how}{'; ' + audit.note if audit.note else ''}", style="dim")
    if audit.compactions:
        _table(out, audit)
    for number, each in enumerate(audit.compactions, 1):
        for warning in _warnings(each):
            _print(out, f"! compaction {number}: {warning}", style="bold red")
    out.print()


def _table(out: Console, audit: Audit) -> None:
    numbers = ("TOKENS BEFORE", "AFTER", "SUMMARIZED", "KEPT", "DROPPED", "SUMMARY")
    listing = table("", "WHEN", *numbers, right=numbers)
    for number, each in enumerate(audit.compactions, 1):
        listing.add_row(
            str(number),
            _time(each.time)[:16],
            thousands(each.before.recomputed),
            thousands(each.after.recomputed),
            thousands(each.messages.summarized),
            thousands(each.messages.kept),
            _dropped(each.messages.dropped),
            thousands(each.summary_tokens),
        )
    out.print()
    out.print(listing, crop=False)


def _dropped(count: int) -> Text:
    from rich.text import Text

    return Text(f"{count:,}", style="bold red" if count else "")


def _warnings(each: CompactionAudit) -> list[str]:
    found = []
    if each.messages.dropped:
        dropped = counted(each.messages.dropped, "message")
        found.append(f"{dropped} left the context with no summary covering them")
    if each.after.recomputed >= each.before.recomputed:
        found.append("the context did not get smaller")
    if not each.summary.strip():
        found.append("its summary is empty")
    if each.files.missing:
        found.append(f"{counted(len(each.files.missing), 'touched file')} that its list lacks")
    if each.files.unfounded:
        found.append(f"{counted(len(each.files.unfounded), 'file')} in its list that no call touched")
    return found


def _compaction(out: Console, each: CompactionAudit, heading: str, audit: Audit) -> None:
    before, after, counts = each.before, each.after, each.messages
    _rule(out, heading, each.id, each.seq, each.time, is_undone=each.undone)
    by = [each.by.model or "no model", each.by.format]
    by += [
        f"{name} {value}" for name, value in (("reason", each.by.reason), ("policy", each.by.policy)) if value
    ]
    by += ["by an extension"] if each.by.from_extension else []
    _field(out, "by", " · ".join(by))
    measured = (
        f" · {thousands(before.measured)} measured at {before.measured_at}" if before.measured_at else ""
    )
    unexplained = ""
    if before.unexplained is not None:
        unexplained = f" · {before.unexplained:+,} that the log cannot explain"
    _field(
        out,
        "before",
        f"{thousands(before.claimed)} claimed{measured} · {before.recomputed:,} recomputed{unexplained}",
    )
    sent = (
        f" · {thousands(after.measured)} sent at the next call, {after.measured_at}"
        if after.measured_at
        else ""
    )
    claimed = f"{after.claimed:,} claimed · " if after.claimed is not None else ""
    _field(out, "after", f"{claimed}{after.recomputed:,} recomputed{sent}")
    _field(out, "", _bar(before.recomputed, after.recomputed))
    _field(
        out,
        "messages",
        f"{counts.summarized:,} summarized · {counts.kept:,} kept"
        + (f" from {each.first_kept} on" if each.first_kept else "")
        + f" · {counts.dropped:,} dropped with no summary covering them",
        style="bold red" if counts.dropped else "",
    )
    _files(out, each.files)
    _field(out, "summary", f"{counted(each.summary_tokens, 'token')} ({audit.counter})")


def _bar(before: int, after: int) -> str:
    filled = round(_BAR * after / before) if before else _BAR
    filled = min(max(filled, 1 if after else 0), _BAR)
    share = f"{after / before:.0%} left" if before else ""
    return "█" * filled + "░" * (_BAR - filled) + f" {share}"


def _files(out: Console, files: Files) -> None:
    log = f"{len(files.recomputed.read_files)} read, {len(files.recomputed.modified_files)} modified"
    if files.claimed is None:
        _field(out, "files", f"no claim · {log} by the log")
    else:
        claim = f"{len(files.claimed.read_files)} read, {len(files.claimed.modified_files)} modified claimed"
        agreement = "" if files.missing or files.unfounded else " · they agree"
        _field(out, "files", f"{claim} · {log} by the log{agreement}")
        for name, paths in (("missing", files.missing), ("unfounded", files.unfounded)):
            for path in paths:
                _field(out, "", f"{name}: {unbroken(path)}", style="red")


def _branch_summary(out: Console, each: BranchSummaryAudit) -> None:
    _rule(out, "Branch summary", each.id, each.seq, each.time)
    _field(
        out,
        "left",
        f"{counted(each.entries, 'entry', 'entries')} up to {each.left or 'an entry that the log does not name'}",
    )
    _field(out, "at", each.attached_to or "the root")
    _files(out, each.files)


def _rewrite(out: Console, each: RewriteAudit) -> None:
    _rule(out, "Rewrite", each.id, each.seq, each.time, is_undone=each.undone)
    _field(out, "reason", each.reason)
    _field(out, "targets", f"{counted(len(each.targets), 'message')}: {', '.join(each.targets)}")
    _field(out, "saved", f"{counted(each.tokens_saved, 'token')}, by its own count")
    out.print()


def _rule(
    out: Console, heading: str, event_id: str, seq: int, time: str | None, *, is_undone: bool = False
) -> None:
    from rich.text import Text

    line = Text(f"── {heading} ", style="bold magenta")
    line.append(f"{unbroken(event_id)} #{seq}  {_time(time)}", style="not bold dim")
    if is_undone:
        line.append("  undone", style="bold yellow")
    out.print(line, crop=False, no_wrap=True, overflow="ignore")


def _field(out: Console, name: str, value: str, *, style: str = "") -> None:
    from rich.text import Text

    text = Text(unbroken(value), style=style or "not dim")
    value_lines = text.wrap(out, max(out.width - _INDENT, 20), overflow="fold")
    for number, value_line in enumerate(value_lines):
        line = Text(f"   {'' if number else name:<9}", style="dim")
        value_line.rstrip()
        line.append_text(value_line)
        out.print(line, crop=False, no_wrap=True, overflow="ignore")


def _summary(out: Console, text: str, *, is_brief: bool) -> None:
    import textwrap

    if is_brief:
        out.print()
        return
    for line in printable(text).strip().splitlines():
        for part in textwrap.wrap(line, max(out.width - _INDENT, 20)) or [""]:
            _print(out, f"{' ' * _INDENT}{part}".rstrip(), style="italic")
    out.print()


def _print(out: Console, text: str, *, style: str = "") -> None:
    out.print(text, style=style, crop=False, overflow="fold")


def _time(time: str | None) -> str:
    return time[:19].replace("T", " ") if time else "-"
