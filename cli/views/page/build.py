"""Build the page of a session from its material."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cli.output import counted, safe_line, thousands, when
from cli.views.model import AuditedReplacement, AuditView, ReplacementView, Sizes
from cli.views.page.charts import chart_markers, context_chart, cost_chart
from cli.views.page.html import summary_html
from cli.views.page.lines import EventLines, event_groups, lines_of, tree_lines
from cli.views.page.material import (
    BilledCall,
    ContextChange,
    Material,
    MessageChange,
    model_name,
    outcomes,
    total_cost,
)
from cli.views.page.parts import (
    BarSegment,
    Figure,
    LabelledValue,
    Page,
    ReadLoss,
    Row,
    Section,
    Unfounded,
    Verdict,
)
from cli.views.texts import (
    FREE,
    dollars,
    failure_text,
    gap_text,
    line_of,
    percent,
    understated_text,
    unexplained_text,
)
from eventstore.errors import shell_command
from eventstore.javascript import epoch_ms
from projections.audit.cost import SessionCost
from projections.audit.measure import Size
from projections.audit.readings import RuleState
from projections.audit.session import BranchSummaryAudit, CompactionAudit, RewriteAudit
from projections.message_text import message_text
from projections.rules.base import native_provider


def figures(material: Material) -> Iterator[Figure]:
    """Yield a session's totals: what to look at, the context at the end, calls and their cost."""
    audit = material.view.audit
    others = [
        counted(len(found), *names)
        for found, names in (
            (audit.branch_summaries, ("branch summary", "branch summaries")),
            (audit.rewrites, ("rewrite", "rewrites")),
            (audit.failed_compactions, ("failed", "failed")),
        )
        if found
    ]
    yield from _of_remarks(material.view)
    yield _figure(
        "context at the end",
        thousands(audit.context_tokens),
        f"tokens, {counted(audit.context_messages, 'message')}",
    )
    branches = counted(material.tree.ends, "branch", "branches")
    yield _figure("entries", thousands(audit.entries), f"on {branches}")
    yield _figure("compactions", thousands(len(audit.compactions)), ", ".join(others))
    yield from _of_calls(material.calls, audit.cost)


def _of_remarks(view: AuditView) -> Iterator[Figure]:
    if not view.replacements:
        return
    row = view.row
    if row.uncovered:
        yield _figure("messages uncovered", thousands(row.uncovered), "that no summary covers")
    yield _figure("read again", thousands(row.fetched), "tokens that the context had held")
    refusals = counted(row.refusals, "refused call") if row.refusals else ""
    yield _figure("said next", thousands(row.messages), refusals or "messages by the person")


def _of_calls(calls: Sequence[BilledCall], cost: SessionCost | None) -> Iterator[Figure]:
    if not calls:
        return
    sent = sum(call.usage.prompt for call in calls)
    read = sum(call.usage.cache_read for call in calls)
    written = sum(call.usage.cache_write for call in calls)
    answered = sum(call.usage.output for call in calls)
    yield _figure("sent", _short(sent), f"tokens in {counted(len(calls), 'call')}")
    yield _figure(
        "from the cache", percent(read / sent if sent else None), f"{_short(written)} written to it"
    )
    too_low = understated_text(cost.spent) if cost else ""
    more = "+" if too_low else ""
    yield _figure("output", _short(answered) + more, f"tokens{too_low}")
    total, known = total_cost(calls), _how_known(calls, cost.prices if cost else "")
    more = "+" if total is not None and (too_low or any(call.dollars is None for call in calls)) else ""
    yield _figure("cost", dollars(total) + more, known + too_low)


def _how_known(calls: Sequence[BilledCall], prices: str) -> str:
    """Describe where the costs come from, and how many calls have none."""
    recorded = [call.dollars for call in calls if call.is_recorded]
    sources = [
        f"as recorded{'' if any(recorded) else FREE}" if recorded else "",
        f"by {prices}" if any(call.dollars is not None and not call.is_recorded for call in calls) else "",
    ]
    unknown = sum(call.dollars is None for call in calls)
    return ", ".join(filter(None, [*sources, f"{counted(unknown, 'call')} unknown" if unknown else ""]))


def _figure(name: str, value: str, note: str) -> Figure:
    return Figure(name=name, value=value, note=note)


def _short(number: int) -> str:
    """Format a number of tokens with three digits."""
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= unit:
            return f"{number / unit:,.3g}{name}" if number < 1000 * unit else f"{number // unit:,}{name}"
    return thousands(number)


def models(material: Material) -> list[str]:
    """Return the models that wrote messages, most messages first."""
    written = (model_name(view) for view in material.views.values() if view.role == "assistant")
    # Answers of Codex do not name theirs, calls do. A fork has no calls of what it copied.
    names = Counter(filter(None, written)) or Counter(call.model for call in material.calls if call.model)
    return [name for name, _ in names.most_common()]


_LONGEST_VERDICT: Final = 90


def sections_of(material: Material, lines: EventLines) -> list[Section]:
    """Return the sections, worst first and open; `lines` maps event numbers to message lines."""
    seq_of: dict[str | None, int] = {event.id: event.seq for event in material.events}
    sealed = {event.seq: native_provider(event) for event in material.events if event.kind == "compaction"}
    sizes = material.view.sizes
    return [
        _section(
            each,
            sizes[each.seq],
            material.exchanges[each.seq],
            lines,
            seq_of,
            sealed_by=sealed.get(each.seq, ""),
            is_open=place == 0,
        )
        for place, each in enumerate(material.view.worst)
    ]


def _section(
    each: ReplacementView,
    sizes: Sizes,
    exchange: ContextChange,
    lines: EventLines,
    seq_of: Mapping[str | None, int],
    *,
    sealed_by: str,
    is_open: bool,
) -> Section:
    result, size = each.result, each.metrics.size
    return Section(
        replacement=each,
        sizes=sizes,
        time=when(epoch_ms(result.time)),
        is_open=is_open,
        verdicts=verdicts(each),
        facts=list(_facts_of_result(result, seq_of, sealed_by)),
        bar_before=_bar(size, ("removed", size.removed), ("kept", size.kept)),
        bar_after=_bar(
            size,
            ("added", size.added),
            ("restored", size.restored),
            ("returned", size.returned),
            ("kept", size.kept),
        ),
        before=[_row(shown, lines) for shown in exchange.before],
        after=[_row(shown, lines) for shown in exchange.after],
        summary=None if isinstance(result, RewriteAudit) else summary_html(result.summary),
        sealed_by=sealed_by,
    )


def verdicts(each: ReplacementView) -> list[Verdict]:
    """Return what a reader should know first: the conditions that hold."""
    undone = [Verdict(text="undone", is_bad=False)] if each.is_undone else []
    return undone + [
        Verdict(text=line_of(remark.text, _LONGEST_VERDICT), is_bad=True) for remark in each.remarks
    ]


def _bar(size: Size, *parts: tuple[str, int]) -> list[BarSegment]:
    """Return the parts of a context side by side, without empty ones."""
    whole = max(size.before, size.after, 1)
    segments, done = list[BarSegment](), 0
    for name, tokens in parts:
        if tokens:
            start, width = 100 * done / whole, 100 * tokens / whole
            segments.append(
                BarSegment(name=name, tokens=tokens, start=round(start, 2), width=round(width, 2))
            )
            done += tokens
    return segments


def _row(shown: MessageChange, lines: EventLines) -> Row:
    line = lines[shown.seq]
    text = line.text if shown.message is None else line_of(message_text(shown.message))
    return Row(seq=shown.seq, name=line.name, text=text, tokens=shown.tokens, fate=shown.change)


def _facts_of_result(
    each: AuditedReplacement, seq_of: Mapping[str | None, int], sealed_by: str
) -> Iterator[LabelledValue]:
    if isinstance(each, CompactionAudit):
        yield from _of_compaction(each, seq_of, sealed_by)
    elif isinstance(each, BranchSummaryAudit):
        yield LabelledValue(name="about", value=counted(each.entries, "entry", "entries"))
        left, attached = seq_of.get(each.left, 0), seq_of.get(each.attached_to, 0)
        yield LabelledValue(
            name="up to", seq=left, value="" if left else "an entry that the record does not name"
        )
        yield LabelledValue(name="attached to", seq=attached, value="" if attached else "the root")
    else:
        yield LabelledValue(name="reason", value=each.reason)
        yield LabelledValue(name="shows otherwise", value=counted(len(each.targets), "message"))
        if each.tokens_saved is not None:
            yield LabelledValue(name="saved, by its own count", value=counted(each.tokens_saved, "token"))


def _of_compaction(
    each: CompactionAudit, seq_of: Mapping[str | None, int], sealed_by: str
) -> Iterator[LabelledValue]:
    by, before, after = each.by, each.before, each.after
    record = (
        by.format,
        by.reason and f"reason {by.reason}",
        by.policy and f"policy {by.policy}",
        by.template and f"template {by.template}",
        "written by an extension" if by.from_extension else "",
    )
    yield LabelledValue(name="model", value=by.model or "none")
    yield LabelledValue(name="record", value=" · ".join(filter(None, record)))
    counts = each.messages
    messages = f"{counts.summarized:,} summarized · {counts.kept:,} kept · {counts.uncovered:,} that no summary covers"
    yield LabelledValue(name="messages", value=_sealed(sealed_by) if sealed_by else messages)
    yield LabelledValue(name="kept from", seq=seq_of.get(each.first_kept, 0))
    unexplained = "" if before.unexplained is None else f" · {unexplained_text(before.unexplained)}"
    yield LabelledValue(
        name="context before, in tokens",
        value=_counts(before.claimed, before.measured, before.recomputed) + unexplained,
    )
    yield LabelledValue(
        name="context after, in tokens",
        value=_counts(after.claimed, after.measured, after.recomputed),
    )


def _sealed(provider: str) -> str:
    return f"sealed: only {provider} can read what stands for them"


def _counts(claimed: int | None, measured: int | None, recomputed: int) -> str:
    known = ((claimed, "by the record"), (measured, "by the provider"), (recomputed, "by refold's count"))
    return " · ".join(f"{thousands(count)} {name}" for count, name in known if count is not None)


_LONGEST_TITLE: Final = 120


def build_page(material: Material, *, is_full: bool = False) -> Page:
    """Return the page; texts are cut unless `is_full`, but not those of work done again."""
    audit = material.view.audit
    lines = lines_of(material.events)
    worst = sections_of(material, lines)
    sections = {view.replacement.seq for view in worst}
    rework = [found for view in worst if (found := view.replacement.metrics.rework)]
    followed = {ref.seq for each in rework for pair in each.pairs for ref in pair}

    def target(seq: int) -> str:
        return f"r-{seq}" if seq in sections else f"e-{seq}"

    read_at = [
        (each.name, each.seq, read)
        for each in material.view.replacements
        for read in audit.readings
        if read.boundary == each.result.id
    ]
    how = f"Tokens recomputed by {audit.counter}, {'an estimate' if audit.estimate else 'exact'}"
    return Page(
        title=line_of(audit.title, _LONGEST_TITLE) or audit.session,
        session=audit.session,
        models=models(material),
        dates=_dates(material),
        note=f"{how}; {audit.note}" if audit.note else how,
        is_estimate=audit.estimate,
        gaps=[gap_text(gap) for gap in audit.gaps],
        not_computed=[failure_text(each) for each in audit.not_computed],
        is_full=is_full,
        figures=list(figures(material)),
        remarks=[
            f"{each.name.capitalize()}: {remark.text}"
            for each in material.view.worst
            if not each.is_undone
            for remark in each.remarks
        ],
        losses=[
            ReadLoss(loss=each, name=name, seq=seq)
            for name, seq, read in read_at
            for each in read.shown_losses
        ],
        broken_rules=[
            each for _, _, read in read_at for each in read.rules if each.state is not RuleState.KEPT
        ],
        unfounded=[
            Unfounded(sentence=each.sentence, seq=seq) for _, seq, read in read_at for each in read.unfounded
        ],
        not_judged=material.view.not_judged,
        judge=safe_line(shell_command("judge --dry-run", audit.session)),
        replacements=sorted(worst, key=lambda view: view.replacement.seq),
        worst=worst,
        context=context_chart(material, chart_markers(material, lines, worst, target)),
        cost=cost_chart(material),
        tree=list(tree_lines(material, lines, target)),
        groups=event_groups(material, lines, outcomes(material), target, whole=None if is_full else followed),
        events=len(material.events),
    )


def _dates(material: Material) -> str:
    """Return the dates of the first and the last entry."""
    times = [event.time for event in material.events if event.time is not None and event.is_entry]
    if not times:
        return ""
    first, last = when(min(times)), when(max(times))
    if first[:10] == last[:10]:
        last = last[11:]
    return f"{first[:-3]} to {last[:-3]} UTC"
