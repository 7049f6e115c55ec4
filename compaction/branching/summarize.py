"""Summarize the branch that a move leaves, at the place where the session continues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from compaction.file_tags import with_file_tags
from compaction.part import Limits
from compaction.prompts import SERIALIZED, serialized_prompt
from compaction.summarizers.chain import SummarizerChain, SummaryReply, recording_failed_attempt
from compaction.summarizers.folding import group_parts, newest_parts_that_fit
from compaction.templates import SYSTEM, Source, Template, find_template, replace_text, with_session
from compaction.triggers import Threshold
from eventstore.checked import checked
from eventstore.errors import BadInputError, NotFoundError
from eventstore.event import Event
from eventstore.imports import observed_rewrites
from eventstore.log import Snapshot
from eventstore.records import BranchSummary
from eventstore.writing import SessionWriter
from projections.context.build import parts_of
from projections.context.cursor import resolve_cursor
from projections.context.parts import Part
from projections.files import files_of
from projections.tokens import Counter

PREAMBLE: Final = "Tried on another branch before the return to this point:"
"""The beginning of every branch summary, as in pi, which tells the model what it reads."""

NO_CONTENT_KINDS: Final = frozenset({"leaf_moved", "label", "session_info"})
"""Kinds of entries that neither reach the model nor change what reaches it."""

_NO_REQUEST: Final[Mapping[str, Any]] = MappingProxyType({})
_SUMMARIES: Final = frozenset({"compaction", "branch_summary"})


def has_content(left: Sequence[Event]) -> bool:
    """Return True if any entry reaches the model or changes what reaches it."""
    return any(entry.kind not in NO_CONTENT_KINDS for entry in left)


def branch_summary(
    snapshot: Snapshot,
    summary: str,
    *,
    left: Sequence[Event],
    parent: str | None,
    request: Mapping[str, Any] = _NO_REQUEST,
    is_supplied: bool = False,
    details: Mapping[str, Any] = _NO_REQUEST,
) -> BranchSummary:
    """Return the record of a summary of the entries `left`, to append below `parent`.

    `left` is oldest first; `parent` None is the root. The text is `PREAMBLE`, the summary, and tags of the
    files that the entries touched. `request` is the record of its requests. `is_supplied` means that a hook
    wrote it; `details` came with it. Raises NotFoundError if the entries have no content, BadInputError for
    an empty summary.
    """
    if not has_content(left):
        raise NotFoundError(
            "entries to summarize before", parent or "root", "the target is on the same branch"
        )
    if not summary.strip():
        raise BadInputError(
            "summary of the branch", "it is empty", "describe what was done there, or leave it out"
        )
    files = files_of(left, snapshot).lists()
    return BranchSummary(
        from_id=parent or "root",
        summary=with_file_tags(_with_preamble(summary), files),
        left=left[-1].id,
        details=files,
        from_extension=is_supplied,
        extension_details=dict(details),
        request=dict(request),
    )


def _with_preamble(summary: str) -> str:
    return summary if summary.startswith(PREAMBLE) else f"{PREAMBLE}\n\n{summary}"


def entries_for_summary(entries: Sequence[Event], budget: int, count: Callable[[Event], int]) -> list[Event]:
    """Return the newest entries of a branch that fit a token budget, oldest first.

    As in pi and oh-my-pi, go from newest to oldest and stop at the first that does not fit. If that one is a
    summary (of a compaction or a branch) and less than 90 % of the budget is used, include it. Skip entries
    without content and those undone on the branch. `count` returns an entry's tokens.
    """
    chosen: list[Event] = []
    total = 0
    for entry in _newest_in_effect(entries):
        if not entry.role:
            continue
        tokens = count(entry)
        is_full = total + tokens > budget
        if not is_full or (entry.kind in _SUMMARIES and total * 10 < budget * 9):
            chosen.insert(0, entry)
        if is_full:
            break
        total += tokens
    return chosen


def _newest_in_effect(entries: Sequence[Event]) -> list[Event]:
    append_at = {entry.seq: entry.cause or entry.id for entry in entries}
    undone: set[str] = set()
    effective = []
    for entry in reversed(entries):
        if append_at[entry.seq] in undone:
            continue
        if entry.kind == "undone" and entry.target_seq in append_at:
            undone.add(append_at[entry.target_seq])
        effective.append(entry)
    return effective


MAX_BRANCH_SUMMARY_TOKENS: Final = 2_048
"""The maximum number of tokens of a branch summary."""
TEMPLATE: Final = "branch"


def summarize_branch(
    writer: SessionWriter,
    left: Sequence[Event],
    chain: SummarizerChain,
    *,
    limits: Limits,
    tokens: Counter,
    sources: Sequence[Source] = (),
    instructions: str = "",
    reserve: int | None = None,
) -> SummaryReply | None:
    """Summarize as many of the newest entries of a branch as fit the model.

    `left` is oldest first. Messages count as the prompt shows them: long results cut, images left out.
    `reserve` tokens of the window stay free, None as for a default `Threshold`. The newest message, or an
    answer with its results, is included even if it does not fit. Return None if the branch has no message. A
    person's instructions replace the template. A failed or cancelled request leaves the tree unchanged and
    appends an `attempt`. Raises SummarizersFailedError, CancelledError.
    """
    with checked(writer.log) as snapshot:
        observed = observed_rewrites(snapshot, writer.session)
        parts = [part for entry in left for part in parts_of(entry, changed=observed.get(entry.seq, ()))]
        places = with_session(sources, snapshot, resolve_cursor(snapshot, writer.session))
    found = find_template(TEMPLATE, places)
    recent = _newest_fitting(
        left, parts, SERIALIZED.sizes(parts, tokens), Threshold(reserve=reserve).threshold(limits)
    )
    if not recent:
        return None
    template = _instructed(found, instructions) if instructions else found
    system = find_template(SYSTEM, places).text
    prompt = serialized_prompt(template, recent, system=system, max_tokens=MAX_BRANCH_SUMMARY_TOKENS)
    with recording_failed_attempt(writer, "branch"):
        return chain.summarize(prompt)


def _newest_fitting(
    left: Sequence[Event], parts: Sequence[Part], sizes: Sequence[int], budget: int
) -> list[Part]:
    """Return the branch's messages for the summarizer, oldest first; `sizes` are their tokens."""
    of_entry: dict[int, list[tuple[Part, int]]] = {}
    for part, size in zip(parts, sizes, strict=True):
        of_entry.setdefault(part.seq, []).append((part, size))

    def count(entry: Event) -> int:
        return sum(size for _, size in of_entry.get(entry.seq, ()))

    def fitting(room: int) -> list[tuple[Part, int]]:
        chosen = entries_for_summary(left, room, count)
        return [each for entry in chosen for each in of_entry.get(entry.seq, ())]

    chosen = fitting(budget)
    if chosen:
        return [part for part, _ in chosen]
    everything = fitting(sum(sizes))
    groups = group_parts([part for part, _ in everything], [size for _, size in everything])
    return newest_parts_that_fit(groups, budget)


def _instructed(template: Template, instructions: str) -> Template:
    """Return a template with a person's own prompt and no required sections."""
    return msgspec.structs.replace(replace_text(template, instructions, source="instructions"), sections=())
