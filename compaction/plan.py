"""Plan a compaction, estimate its size, and detect appends that make a summary obsolete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from compaction.cuts import AnyCut, Cut
from compaction.file_tags import with_file_tags
from compaction.part import Limits
from compaction.policy.model import MessageSource, Policy, Prompting
from compaction.prompts import output_budget, turn_prefix_budget
from compaction.rewrites import Offload
from compaction.sized_context import shown_after, sized
from compaction.window import Window, build_window, select_window
from eventstore import paths
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent
from eventstore.records import FileOperations, TextReplacement
from projections.context.build import context_at, parts_from
from projections.context.cursor import Cursor, resolve_cursor
from projections.context.parts import Part, has_message
from projections.files import files_at
from projections.rules import rules_at
from projections.tokens import Counter

NO_MESSAGES: Final = "there are no messages"
NO_NEWER_MESSAGES: Final = "no message follows the newest compaction"
ALL_KEPT: Final = "everything that is not summarized yet is kept"
ALL_TOGETHER: Final = "everything that is not summarized yet belongs together and is kept"
"""The reason why there is nothing to compact."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A cut of the window at a leaf, with the messages of its three parts.

    `at` is the leaf. `tokens_before` is the size of the present context, `tokens_kept` that of the kept
    messages. `files` are those that all summarized messages touched, including earlier compactions and the
    prefix of a split turn.
    `to_summarize` and `turn_prefix` are as the summarizer reads them: as the context shows them, or as
    stored. `sent` are the window's messages as a request has them, by key. `summary` is the message in which
    the context shows the previous summary.
    """

    at: Cursor
    window: Window
    cut: Cut
    to_summarize: tuple[Part, ...]
    turn_prefix: tuple[Part, ...]
    kept: tuple[Part, ...]
    tokens_before: int
    tokens_kept: int
    files: FileOperations
    sent: dict[tuple[str, int, int], Part]
    summary: Part | None = None

    @property
    def previous_summary(self) -> str:
        """The summary of what came before the window, "" for none."""
        return self.window.previous_summary or ""


def plan_compaction(
    snapshot: Snapshot,
    cursor: Cursor,
    policy: Policy,
    *,
    limits: Limits,
    tokens: Counter,
    cut: AnyCut | None = None,
) -> Plan | str:
    """Return the plan of a compaction at a leaf, or why there is nothing to do.

    `cut` overrides the policy's.
    """
    part = cut or policy.cut
    if part is None:
        return _why_no_cut(policy)
    found = build_window(snapshot, cursor, tokens)
    chosen = part.cut(found, limits)
    if chosen is None:
        return _why_all_kept(found, part)
    return make_plan(snapshot, cursor, found, chosen, source=policy.prompting.source, tokens=tokens)


def make_plan(
    snapshot: Snapshot,
    cursor: Cursor,
    found: Window,
    chosen: Cut,
    *,
    source: MessageSource,
    tokens: Counter,
) -> Plan:
    """Plan a compaction with a given cut; `source` says which messages the summarizer reads."""
    leaf = paths.event(snapshot, cursor.session, cursor.leaf)
    parts = found.parts
    turn_place = len(chosen.to_summarize)
    kept_place = turn_place + len(chosen.turn_prefix)
    to_summarize, prefix, kept = parts[:turn_place], parts[turn_place:kept_place], parts[kept_place:]
    context = context_at(snapshot, cursor, readable=True).parts
    if source == "log" and (own := [part for part in parts if part.session == cursor.session]):
        # A hidden message has no place of its own in the cut: it goes where the message before it goes.
        behind = kept[0].seq if kept else cursor.leaf + 1
        turn = next((part.seq for part in prefix if part.session == cursor.session), behind)
        since = msgspec.structs.replace(select_window(snapshot, cursor), first=own[0].seq)
        stored = parts_from(snapshot, cursor, since, rewritten=False)
        to_summarize = (
            *(part for part in to_summarize if part.session != cursor.session),
            *(part for part in stored if part.seq < turn),
        )
        prefix = (
            *(part for part in prefix if part.session != cursor.session),
            *(part for part in stored if turn <= part.seq < behind),
        )
    return Plan(
        at=cursor,
        window=found,
        cut=chosen,
        to_summarize=to_summarize,
        turn_prefix=prefix,
        kept=kept,
        tokens_before=sum(tokens.count(context)),
        tokens_kept=sum(tokens.count(kept)),
        files=files_at(snapshot, cursor, before=kept[0].seq if kept else None).lists(),
        sent={part.key: part for part in rules_at(snapshot, leaf).arrange(snapshot, leaf, parts)},
        summary=next(
            (part for part in context if part.kind == "compaction" and part.session == cursor.session), None
        ),
    )


def _why_no_cut(policy: Policy) -> str:
    return f"policy {policy.name!r} makes no summaries{', but has rewrites' if policy.rewrites else ''}"


def _why_all_kept(found: Window, part: AnyCut) -> str:
    if found.is_compacted:
        return NO_NEWER_MESSAGES
    if not found.items:
        return NO_MESSAGES
    why = ALL_KEPT if any(item.may_start for item in found.items[1:]) else ALL_TOGETHER
    return part.why_all(found) or why


_PREVIEWS: Final = (2_000, 1_000, 500, 250, 125, 0)
"""Lengths in characters to try for shortened results, until they fit."""


def shrink_outputs(plan: Plan, tokens: Counter) -> list[TextReplacement]:
    """Return replacements that shorten the largest kept outputs to fit the budget if they can."""
    budget = plan.cut.shrinks_to
    if budget is None:
        return []
    seen = sized(plan.at.session, plan.kept, tokens)
    outputs = seen.outputs
    others = sum(each.tokens for each in seen.messages) - sum(each.tokens for each in outputs)
    room = max(budget - others, 0) * sum(each.characters for each in outputs)
    characters = room // max(sum(each.tokens for each in outputs), 1)
    for preview in _PREVIEWS:
        targets = Offload(characters=characters, preview=preview).shortened(seen, outputs)
        if sum(each.tokens for each in shown_after(seen, targets, tokens).messages) <= budget:
            break
    return targets


USUAL_SUMMARY_TOKENS: Final = 3_000
"""Tokens of a typical summary by `extractive`; models mostly write shorter ones."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Estimated sizes in tokens: the whole context `at_most` and `likely`, and what is `kept`."""

    at_most: int
    likely: int
    kept: int
    shrinks: list[TextReplacement]


def estimate(plan: Plan, policy: Policy, tokens: Counter) -> Estimate:
    """Estimate the context's size, with summaries of maximum and of typical length.

    Restored files count for `at_most` only. A context that would not shrink stays as it is.
    """
    shrinks = shrink_outputs(plan, tokens)
    seen = sized(plan.at.session, plan.kept, tokens)
    kept = sum(each.tokens for each in shown_after(seen, shrinks, tokens).messages)
    tags = tokens.of_text(with_file_tags("", plan.files))
    restored = policy.restoring.tokens if policy.restoring else 0
    summaries = _summaries(plan, policy.prompting, tokens)
    return Estimate(
        at_most=min(kept + tags + sum(budget for budget, _ in summaries) + restored, plan.tokens_before),
        likely=min(
            kept + tags + sum(min(USUAL_SUMMARY_TOKENS, *each) for each in summaries), plan.tokens_before
        ),
        kept=kept,
        shrinks=shrinks,
    )


def _summaries(plan: Plan, prompting: Prompting, tokens: Counter) -> list[tuple[int, int]]:
    """Return for each summary its maximum size and the size of what it replaces."""
    budget = prompting.output or output_budget(prompting.reserve)
    everything = plan.tokens_before - plan.tokens_kept
    if not (plan.turn_prefix and prompting.turn_prefix):
        return [(budget, everything)]
    prefix = sum(tokens.count(plan.turn_prefix))
    return [(budget, everything - prefix), (turn_prefix_budget(prompting.reserve), prefix)]


COMPACTED: Final = "others have compacted it in the meantime"
LEFT: Final = "others have left the branch in the meantime"
WENT_ON: Final = "others have continued from there in the meantime"


def stale_reason(snapshot: Snapshot, cursor: Cursor, *, since: int, is_elsewhere: bool) -> str:
    """Return why a summary of the path to a leaf is obsolete, "" if it is still valid.

    `since` is the session's version at which the leaf was chosen. With `is_elsewhere` the caller chose a leaf
    other than the session's own: then any new message or compaction below it makes the summary obsolete.
    Otherwise the session may have grown, and the summary stays valid unless others left the branch or
    compacted it.
    """
    if is_elsewhere:
        kinds = {entry.kind for entry in _come_below(snapshot, cursor, since)}
        return COMPACTED if "compaction" in kinds else WENT_ON if kinds else ""
    here = resolve_cursor(snapshot, cursor.session)
    entries = {entry.seq: entry for entry in paths.path(snapshot, here.session, here.leaf)}
    if cursor.leaf not in entries:
        return LEFT
    return "" if entries[cursor.leaf].compaction_seq == entries[here.leaf].compaction_seq else COMPACTED


def has_new_messages(snapshot: Snapshot, cursor: Cursor, since: int) -> bool:
    """Return True if a message or compaction was appended below a leaf after version `since`."""
    return next(_come_below(snapshot, cursor, since), None) is not None


def _come_below(snapshot: Snapshot, cursor: Cursor, since: int) -> Iterator[LazyEvent]:
    for entry in paths.events(snapshot, cursor.session, first=since + 1):
        if entry.kind == "compaction" or has_message(entry):
            above = next(paths.path(snapshot, cursor.session, entry.seq, first=cursor.leaf), None)
            if above is not None and above.seq == cursor.leaf:
                yield entry
