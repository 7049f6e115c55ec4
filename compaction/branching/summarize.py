"""Summarize a branch that is left, at the place where the session goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from compaction.file_tags import with_file_tags
from compaction.part import Limits
from compaction.prompts import SERIALIZED, serialized_prompt
from compaction.summarizers.chain import Reply, SummarizerChain, recording_failed_attempt
from compaction.summarizers.folding import group_parts, newest_parts_that_fit
from compaction.templates import SYSTEM, Source, Template, find_template, replace_text, with_session
from compaction.triggers import Threshold
from eventstore.checked import checked
from eventstore.errors import BadInputError, NotFoundError
from eventstore.event import Event
from eventstore.imports import observed_rewrites
from eventstore.log import Snapshot
from eventstore.paths import entry_id
from eventstore.records import BranchSummary
from eventstore.writing import SessionWriter
from projections.context.build import parts_of
from projections.context.cursor import Leaf, path, resolve_cursor
from projections.context.parts import Part
from projections.files import files_of
from projections.tokens import Counter

PREAMBLE: Final = "Tried on another branch before the return to this point:"
"""The beginning of every branch summary's text, as in pi: the model is told what it reads."""

NO_CONTENT_KINDS: Final = frozenset({"leaf_moved", "label", "session_info"})
"""Kinds of entries that tell a model nothing, and do not change what it is told."""

_NOT_ASKED: Final[Mapping[str, Any]] = MappingProxyType({})
_SUMMARIES: Final = frozenset({"compaction", "branch_summary"})


def record_branch_summary(writer: SessionWriter, *, summary: str, target: Leaf) -> str:
    """Leave the branch that the session stands on for `target`, and put a summary of it there.

    The summary is about the entries from the leaf up to, not including, the deepest one that both paths
    share; the files that those touched are recomputed. Gives the new entry's id. Raises NotFoundError, also
    where there is nothing to summarize, BadInputError for an empty summary, and VersionConflictError where
    somebody appended in the meantime.
    """
    with checked(writer.log) as snapshot:
        here, there = (
            resolve_cursor(snapshot, writer.session),
            resolve_cursor(snapshot, writer.session, leaf=target),
        )
        version = snapshot.head(writer.session).version
        shared = {entry.seq for entry in path(snapshot, there)}
        left = [entry for entry in path(snapshot, here) if entry.seq not in shared]
        parent = entry_id(snapshot, writer.session, there.leaf)
        record = branch_summary(snapshot, summary, left=left, parent=parent)
    return writer.append(record, parent=parent, expected=version)[0]


def has_content(left: Sequence[Event]) -> bool:
    """Return True if there is anything to tell of entries that are left."""
    return any(entry.kind not in NO_CONTENT_KINDS for entry in left)


def branch_summary(
    snapshot: Snapshot,
    summary: str,
    *,
    left: Sequence[Event],
    parent: str | None,
    request: Mapping[str, Any] = _NOT_ASKED,
    is_supplied: bool = False,
    details: Mapping[str, Any] = _NOT_ASKED,
) -> BranchSummary:
    """Return the record of a summary of the entries `left`, oldest first, to append below `parent` (None: the root).

    Its text is `PREAMBLE`, the summary, and the files that the entries touched as tags. `request` is how it was
    asked for; `is_supplied`: a hook wrote it, and gave `details` with it. Raises NotFoundError where the entries
    say nothing, BadInputError for an empty summary.
    """
    if not has_content(left):
        raise NotFoundError(
            "entries to summarize before", parent or "root", "the target is on this very branch"
        )
    if not summary.strip():
        raise BadInputError(
            "summary of the branch", "it is empty", "say what was done there, or leave it out"
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
    """Return the newest of a branch's entries that fit a budget in tokens, oldest first, for a summarizer.

    pi's and oh-my-pi's rule: newest to oldest, up to the first that does not fit. If that one is a summary
    itself (a compaction's, a branch's) and less than 90 % of the budget is used, it still goes in, for it
    stands for much. Entries that tell a model nothing, or that an undo among them has put out of effect, are
    passed over. `count` gives an entry's tokens.
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
"""Tokens that a branch's summary may have."""
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
) -> Reply | None:
    """Summarize the entries that a move leaves, oldest first, from as many of the newest messages as fit the model.

    A message costs what the prompt has of it: long results are cut there, and images left out. `reserve` tokens of
    the window stay free; None: as many as where nobody chose a reserve for a `Threshold`. Where not even the newest
    fits, it is told all the same, an answer with its results. None where the branch holds no message. Instructions
    of a person replace the template. A failed or cancelled request leaves the tree as it was, and an `attempt`. Raises
    SummarizersFailedError, CancelledError.
    """
    with checked(writer.log) as snapshot:
        observed = observed_rewrites(snapshot, writer.session)
        parts = [part for entry in left for part in parts_of(entry, changed=observed.get(entry.seq, ()))]
        places = with_session(sources, snapshot, resolve_cursor(snapshot, writer.session))
    found = find_template(TEMPLATE, places)
    told = _told(left, parts, SERIALIZED.sizes(parts, tokens), Threshold(reserve=reserve).threshold(limits))
    if not told:
        return None
    template = _instructed(found, instructions) if instructions else found
    system = find_template(SYSTEM, places).text
    prompt = serialized_prompt(template, told, system=system, max_tokens=MAX_BRANCH_SUMMARY_TOKENS)
    with recording_failed_attempt(writer, "branch"):
        return chain.summarize(prompt)


def _told(left: Sequence[Event], parts: Sequence[Part], sizes: Sequence[int], budget: int) -> list[Part]:
    """Return the messages of a branch that a summarizer is given, oldest first; `sizes` are the tokens of `parts`."""
    of_entry: dict[int, list[tuple[Part, int]]] = {}
    for part, size in zip(parts, sizes, strict=True):
        of_entry.setdefault(part.seq, []).append((part, size))

    def count(entry: Event) -> int:
        return sum(size for _, size in of_entry.get(entry.seq, ()))

    def fitting(room: int) -> list[tuple[Part, int]]:
        chosen = entries_for_summary(left, room, count)
        return [each for entry in chosen for each in of_entry.get(entry.seq, ())]

    told = fitting(budget)
    if told:
        return [part for part, _ in told]
    everything = fitting(sum(sizes))
    groups = group_parts([part for part, _ in everything], [size for _, size in everything])
    return newest_parts_that_fit(groups, budget)


def _instructed(template: Template, instructions: str) -> Template:
    """Return a template whose prompt is a person's own, which asks for no sections."""
    return msgspec.structs.replace(replace_text(template, instructions, source="instructions"), sections=())
