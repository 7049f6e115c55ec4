"""Compactions, branch summaries and rewrites as sections of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from cli.output import counted, thousands, when
from cli.replaced import Replaced, grew, names, replacements, undone
from cli.report.exchange import Exchange, Shown
from cli.report.findings import findings
from cli.report.lines import SIGNS, Lines
from cli.report.material import Material
from cli.report.model import Fact, ReplacementView, Row, Segment
from cli.report.summary_html import summary_html
from cli.report.texts import line_of
from eventstore.javascript import epoch_ms
from projections.audit import BranchSummaryAudit, CompactionAudit, RewriteAudit
from projections.metrics.order import worst_first
from projections.metrics.size import Size
from projections.renderers.text import message_text

_KINDS: Final[dict[type[Replaced], str]] = {
    CompactionAudit: "compaction",
    BranchSummaryAudit: "branch_summary",
    RewriteAudit: "rewrite",
}


def replacement_views(material: Material, lines: Lines) -> list[ReplacementView]:
    """The sections, the worst first and open; `lines` are what messages say, by their numbers."""
    called, without_effect = names(material.audit), undone(material.audit)
    seq_of: dict[str | None, int] = {event.id: event.seq for event in material.events}
    return [
        _view(
            each,
            material.exchanges[each.seq],
            lines,
            seq_of,
            name=called[each.seq].capitalize(),
            is_undone=each.seq in without_effect,
            is_open=place == 0,
        )
        for place, each in enumerate(worst_first(replacements(material.audit)))
    ]


def _view(
    each: Replaced,
    exchange: Exchange,
    lines: Lines,
    seq_of: Mapping[str | None, int],
    *,
    name: str,
    is_undone: bool,
    is_open: bool,
) -> ReplacementView:
    kind = _KINDS[type(each)]
    size = each.metrics.size
    losses = Counter(loss.had_seq for loss in each.metrics.future_use.losses)
    return ReplacementView(
        seq=each.seq,
        id=each.id,
        kind=kind,
        sign=SIGNS[kind],
        name=name,
        time=when(epoch_ms(each.time)),
        is_undone=is_undone,
        is_open=is_open,
        findings=findings(each, is_undone=is_undone),
        facts=list(_facts(each, seq_of)),
        metrics=each.metrics,
        grew=grew(each),
        files=None if isinstance(each, RewriteAudit) else each.files,
        bar_before=_bar(size, ("removed", size.removed), ("kept", size.kept)),
        bar_after=_bar(size, ("added", size.added), ("returned", size.returned), ("kept", size.kept)),
        before=[_row(shown, lines, losses[shown.seq]) for shown in exchange.before],
        after=[_row(shown, lines, 0) for shown in exchange.after],
        summary=None if isinstance(each, RewriteAudit) else summary_html(each.summary, exchange.named),
    )


def _bar(size: Size, *parts: tuple[str, int]) -> list[Segment]:
    """Parts of a context side by side, those without tokens left out."""
    whole = max(size.before, size.after, 1)
    segments, done = list[Segment](), 0
    for name, tokens in parts:
        if tokens:
            start, width = 100 * done / whole, 100 * tokens / whole
            segments.append(Segment(name=name, tokens=tokens, start=round(start, 2), width=round(width, 2)))
            done += tokens
    return segments


def _row(shown: Shown, lines: Lines, losses: int) -> Row:
    line = lines[shown.seq]
    text = line.text if shown.message is None else line_of(message_text(shown.message))
    return Row(
        seq=shown.seq, name=line.name, text=text, tokens=shown.tokens, fate=shown.change, losses=losses
    )


def _facts(each: Replaced, seq_of: Mapping[str | None, int]) -> Iterator[Fact]:
    if isinstance(each, CompactionAudit):
        yield from _of_compaction(each, seq_of)
    elif isinstance(each, BranchSummaryAudit):
        yield Fact(name="about", value=counted(each.entries, "entry", "entries"))
        left, attached = seq_of.get(each.left, 0), seq_of.get(each.attached_to, 0)
        yield Fact(name="up to", seq=left, value="" if left else "an entry that the record does not name")
        yield Fact(name="attached to", seq=attached, value="" if attached else "the root")
    else:
        yield Fact(name="reason", value=each.reason)
        yield Fact(name="shows otherwise", value=counted(len(each.targets), "message"))
        yield Fact(name="saved, by its own count", value=counted(each.tokens_saved, "token"))


def _of_compaction(each: CompactionAudit, seq_of: Mapping[str | None, int]) -> Iterator[Fact]:
    by, before, after = each.by, each.before, each.after
    record = (
        by.format,
        by.reason and f"reason {by.reason}",
        by.policy and f"policy {by.policy}",
        by.template and f"template {by.template}",
        "written by an extension" if by.from_extension else "",
    )
    yield Fact(name="model", value=by.model or "none")
    yield Fact(name="record", value=" · ".join(filter(None, record)))
    counts = each.messages
    messages = f"{counts.summarized:,} summarized · {counts.kept:,} kept · {counts.dropped:,} dropped"
    yield Fact(name="messages", value=messages)
    yield Fact(name="kept from", seq=seq_of.get(each.first_kept, 0))
    unexplained = (
        "" if before.unexplained is None else f" · {before.unexplained:+,} that the log cannot explain"
    )
    yield Fact(
        name="tokens before", value=_counts(before.claimed, before.measured, before.recomputed) + unexplained
    )
    yield Fact(name="tokens after", value=_counts(after.claimed, after.measured, after.recomputed))


def _counts(claimed: int | None, measured: int | None, recomputed: int) -> str:
    known = ((claimed, "claimed"), (measured, "measured"), (recomputed, "recomputed"))
    return " · ".join(f"{thousands(count)} {name}" for count, name in known if count is not None)
