"""Move to another entry of a session's tree; let hooks decide and summarize the branch left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from compaction.branching.move_plan import Move, plan_move
from compaction.branching.summarize import branch_summary, has_content, summarize_branch
from compaction.decisions import DecisionOutcome
from compaction.hooks import Cancel, Hooks, SuppliedSummary, call_hooks_before, recording_hook_errors
from compaction.part import Limits
from compaction.plan import LEFT
from compaction.summarizers.chain import SummarizerChain, request_record
from compaction.templates import Source
from eventstore.checked import checked
from eventstore.errors import BadInputError, RefoldError
from eventstore.event import Parent
from eventstore.log import Snapshot
from eventstore.paths import entry_id
from eventstore.records import Attempt, Decision, Label, LeafMoved, Record
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.cursor import Leaf, resolve_cursor
from projections.context.parts import has_message
from projections.tokens import Counter

GREW: Final = "the branch has grown in the meantime"


class BranchSummaryText(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a branch summary, and where it came from.

    `request` is the record of its requests. `is_supplied` means that a hook wrote it; `details` came with it.
    `of` is the move whose branch it summarizes, None for the move at hand.
    """

    text: str
    request: dict[str, Any] = {}
    is_supplied: bool = False
    details: dict[str, Any] = {}
    of: Move | None = None


class StaleSummaryError(RefoldError):
    """A summary is about other messages than the move would leave now."""


class AppendedMove(msgspec.Struct, frozen=True, kw_only=True):
    """A finished move, and the ids of its events: the move or the summary, then the label."""

    move: Move
    events: tuple[str, ...]


def go(
    writer: SessionWriter,
    target: Leaf,
    *,
    summary: str | BranchSummaryText | None = None,
    label: str | None = None,
    dry_run: bool = False,
) -> AppendedMove:
    """Move to an entry or to `ROOT` in one append, as `plan_move` plans it.

    With a summary, append it at the new leaf; otherwise append a move. The label goes to the summary, or
    without one to the target, as in pi. If its leaf does not change, append no move; with `dry_run`,
    append nothing. Raises NotFoundError (also for a summary if there is nothing to summarize), BadInputError
    for an empty summary or a label of the root, StaleSummaryError for a summary of another branch,
    VersionConflictError if others appended meanwhile.
    """
    written = BranchSummaryText(text=summary) if isinstance(summary, str) else summary
    with checked(writer.log) as snapshot:
        version = snapshot.head(writer.session).version
        move = plan_move(snapshot, writer.session, target)
        if written is not None and written.of is not None:
            _check_same(written.of, move)
        step = _step(snapshot, move, written)
    if label is not None and summary is None and move.target is None:
        raise BadInputError(
            f"label {label!r}", "the root is not an entry, and cannot have a label", "leave it out"
        )
    count = (step is not None) + (label is not None)
    if dry_run or not count:
        return AppendedMove(move=move, events=())
    ids = writer.fresh_ids(count)
    records = [] if step is None else [step]
    if label is not None:
        labelled = ids[0] if summary is not None else move.target
        records.append(Label(target_id=labelled or "", label=label))
    parent = Parent.LEAF if step is None else move.new_leaf
    cause = ids[0] if count > 1 else ""
    writer.append(*records, parent=parent, cause=cause, expected=version, ids=ids)
    return AppendedMove(move=move, events=tuple(ids))


def _check_same(before: Move, now: Move) -> None:
    """Raise StaleSummaryError unless a move leaves the same messages as before."""
    summarized, left = (list(_summarized_ids(each)) for each in (before, now))
    if left != summarized:
        raise StaleSummaryError(GREW if left[: len(summarized)] == summarized else LEFT)


def _summarized_ids(move: Move) -> Iterator[str]:
    """Yield the ids of what a branch summary depends on: messages, compactions, undos."""
    return (
        entry.id
        for entry in move.to_summarize
        if has_message(entry) or entry.kind in ("compaction", "undone")
    )


def _step(snapshot: Snapshot, move: Move, written: BranchSummaryText | None) -> Record | None:
    """Return the record of a move, None if the session stays where it is."""
    if written is not None:
        return branch_summary(
            snapshot,
            written.text,
            left=move.to_summarize,
            parent=move.new_leaf,
            request=written.request,
            is_supplied=written.is_supplied,
            details=written.details,
        )
    return None if move.stays else LeafMoved(from_id=move.leaf or "")


def move_to(writer: SessionWriter, target: Leaf, *, expected: int | None = None) -> str:
    """Move a session to any entry, or to `ROOT`; return the id of the move's entry.

    `expected` is the session's version at which the target was chosen, None for the current one. Raises
    NotFoundError, and VersionConflictError if others appended meanwhile.
    """
    with writer.log.snapshot() as snapshot:
        here = resolve_cursor(snapshot, writer.session)
        there = resolve_cursor(snapshot, writer.session, leaf=target)
        version = snapshot.head(writer.session).version
        left, parent = (entry_id(snapshot, writer.session, at.leaf) for at in (here, there))
    since = version if expected is None else expected
    return writer.append(LeafMoved(from_id=left or ""), parent=parent, expected=since)[0]


NOTHING_TO_SUMMARIZE: Final = "the branch has no message to summarize"


class MoveResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a move.

    `outcome` says if it was made, a hook cancelled it, or others changed the branch while the summary was
    written ("stale"). `reason` explains that, or why a move has no summary. `is_summarized` means that
    the branch has a summary. `events` are the ids of the appended events, `missing` the sections that the
    summary lacks, `hook_errors` the messages of hooks that raised.
    """

    outcome: Literal["moved", "cancelled", "stale"]
    move: Move
    reason: str = ""
    is_summarized: bool = False
    events: list[str] = []
    missing: list[str] = []
    hook_errors: list[str] = []


class Navigator(msgspec.Struct, frozen=True, kw_only=True):
    """Move sessions, with a summarizer for the branch left and with hooks.

    Without a `chain`, branches get no summary. `tokens` counts tokens. Templates are looked up in `sources`
    first. `reserve` tokens of the window stay free; None means 16,384, or 15 % of a small window.
    """

    limits: Limits
    tokens: Counter
    chain: SummarizerChain | None = None
    sources: Sequence[Source] = ()
    hooks: Sequence[Hooks] = ()
    reserve: int | None = None

    def go(
        self,
        writer: SessionWriter,
        target: Leaf,
        *,
        summary: str | None = None,
        instructions: str = "",
        label: str | None = None,
    ) -> MoveResult:
        """Move to an entry or to `ROOT`, with a summary: the given one, a hook's, or a summarizer's.

        Hooks learn if a summary is requested; one that they supply is used only then. If the branch holds
        nothing worth telling, no summary is requested. A failed or cancelled request leaves the tree
        unchanged and appends an `attempt`. So does a request during which others added messages to the
        branch, compacted it, undid something or left it, because the summary no longer fits. Raises what `go`
        raises, SummarizersFailedError, CancelledError.
        """
        move = plan_move(writer.log, writer.session, target)
        move = msgspec.structs.replace(move, summary_requested=summary is None and self.chain is not None)
        with recording_hook_errors(writer) as hook_errors:
            answer = call_hooks_before(self.hooks, "before_move", move, hook_errors)
            if isinstance(answer, Cancel):
                writer.append(Decision(outcome=DecisionOutcome.CANCELLED, reason=answer.reason))
                return MoveResult(
                    outcome="cancelled", move=move, reason=answer.reason, hook_errors=hook_errors
                )
            if isinstance(answer, SuppliedSummary) and has_content(move.to_summarize):
                written: BranchSummaryText | None = BranchSummaryText(
                    text=answer.summary, is_supplied=True, details=answer.details, of=move
                )
            elif summary is not None:
                written = BranchSummaryText(text=summary, of=move)
            else:
                written = self._summarize(writer, move, instructions)
            try:
                moved = retry_on_conflict(lambda: go(writer, target, summary=written, label=label))
            except StaleSummaryError as error:
                if written is not None and written.request:
                    request = {"reason": "branch", "requests": written.request["requests"]}
                    writer.append(Attempt(request=request, error=str(error)))
                return MoveResult(outcome="stale", move=move, reason=str(error), hook_errors=hook_errors)
            for hooks in self.hooks:
                hook_errors.call(hooks, "after_move", list(moved.events))
        return MoveResult(
            outcome="moved",
            move=moved.move,
            reason=NOTHING_TO_SUMMARIZE if written is None and self.chain is not None else "",
            is_summarized=written is not None,
            events=list(moved.events),
            missing=written.request.get("missingSections", []) if written else [],
            hook_errors=hook_errors,
        )

    def _summarize(self, writer: SessionWriter, move: Move, instructions: str) -> BranchSummaryText | None:
        """Return a summarizer's summary of the branch left, None without a chain or content."""
        if self.chain is None:
            return None
        found = summarize_branch(
            writer,
            move.to_summarize,
            self.chain,
            limits=self.limits,
            tokens=self.tokens,
            sources=self.sources,
            instructions=instructions,
            reserve=self.reserve,
        )
        if found is None:
            return None
        request = request_record(found.requests, missing=found.missing)
        return BranchSummaryText(text=found.text, request=request, of=move)
