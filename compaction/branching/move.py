"""Move to another entry of a session's tree: hooks have a say, and what is left is summarized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from compaction.branching.summarize import NO_CONTENT_KINDS, branch_summary, has_content, summarize_branch
from compaction.hooks import Cancel, Hooks, SuppliedSummary, ask_hooks_before, recording_hook_errors
from compaction.part import Limits
from compaction.plan import LEFT, Move
from compaction.summarizers.chain import SummarizerChain, request_record
from compaction.templates import Source
from eventstore.checked import checked
from eventstore.errors import BadInputError, RefoldError
from eventstore.event import Parent
from eventstore.formats import view_of_event
from eventstore.imports import observed_rewrites
from eventstore.log import EventLog, Snapshot
from eventstore.paths import entry_id, event, path
from eventstore.records import Attempt, Decision, DecisionOutcome, Label, LeafMoved, Record
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.cursor import Cursor, Leaf, resolve_cursor
from projections.context.parts import has_message
from projections.files import files_of
from projections.tokens import Counter

GREW: Final = "the branch has grown meanwhile"


class BranchSummaryText(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of a branch that somebody wrote.

    `request` is how it was asked for, `is_supplied`: a hook wrote it, and gave `details` with it. `of` is the move
    whose branch it tells of, None: of the one that is found.
    """

    text: str
    request: dict[str, Any] = {}
    is_supplied: bool = False
    details: dict[str, Any] = {}
    of: Move | None = None


class StaleSummaryError(RefoldError):
    """A summary tells of other messages than those that would be left by now."""


class AppendedMove(msgspec.Struct, frozen=True, kw_only=True):
    """A move that was carried out, and the ids of what was appended: the move or the summary, then the label."""

    move: Move
    events: tuple[str, ...]


def plan_move(log: EventLog | Snapshot, session: str, target: Leaf) -> Move:
    """Return what going to an entry, or to `ROOT`, would do; nothing is appended. Raises NotFoundError.

    The rules are pi's (`navigateTree`). Moves, labels and titles are no places of their own: who stands at
    one of them stands at the entry above.
    """
    with checked(log) as snapshot:
        here, there = resolve_cursor(snapshot, session), resolve_cursor(snapshot, session, leaf=target)
        shared = {entry.seq for entry in path(snapshot, session, there.leaf)}
        ancestor, left = 0, []
        for entry in path(snapshot, session, here.leaf):
            if entry.seq in shared:
                ancestor = entry.seq
            else:
                left.append(entry.decode())
        new_leaf, editor_text = there.leaf, None
        if there.leaf and there.leaf != here.leaf:
            new_leaf, editor_text = _landing(snapshot, there)
        return Move(
            leaf=entry_id(snapshot, session, here.leaf),
            target=entry_id(snapshot, session, there.leaf),
            common_ancestor=entry_id(snapshot, session, ancestor),
            to_summarize=tuple(left),
            new_leaf=entry_id(snapshot, session, new_leaf),
            editor_text=editor_text,
            files=files_of(left, snapshot).lists(),
            stays=_place(snapshot, session, new_leaf) == _place(snapshot, session, here.leaf),
        )


def _landing(snapshot: Snapshot, there: Cursor) -> tuple[int, str | None]:
    """Return the leaf, by its number, of one who goes to an entry, and the text that is handed back."""
    entry = event(snapshot, there.session, there.leaf).decode()
    if not (entry.kind == "custom_message" or (entry.kind == "message" and entry.role == "user")):
        return entry.seq, None
    if there.has_observed:
        changed = observed_rewrites(snapshot, there.session).get(entry.seq, [entry.body])
        entry = msgspec.structs.replace(entry, body=changed[-1])
    message = view_of_event(entry)
    return entry.parent_seq, message.text if message else ""


def _place(snapshot: Snapshot, session: str, seq: int) -> int:
    """Return the entry, by its number, that one stands at who stands at this one."""
    while seq and (entry := event(snapshot, session, seq)).kind in NO_CONTENT_KINDS:
        seq = entry.parent_seq
    return seq


def go(
    writer: SessionWriter,
    target: Leaf,
    *,
    summary: str | BranchSummaryText | None = None,
    label: str | None = None,
    dry_run: bool = False,
) -> AppendedMove:
    """Go to an entry, or to `ROOT`, in one append: what `plan_move` says, all of it or nothing.

    With a summary of the branch that is left, it is attached at the new leaf; else a move is. A label is
    for the summary, or without one for the target, as pi sets it. Where the session stands there already,
    no move is appended; in a dry run nothing is. Raises NotFoundError, also for a summary where there is
    nothing to summarize, BadInputError for an empty summary or a label of the root, StaleSummaryError where a summary
    tells of another branch, VersionConflictError where somebody appended in the meantime.
    """
    written = BranchSummaryText(text=summary) if isinstance(summary, str) else summary
    with checked(writer.log) as snapshot:
        version = snapshot.head(writer.session).version
        move = plan_move(snapshot, writer.session, target)
        if written is not None and written.of is not None:
            _check_same(written.of, move)
        step = _step(snapshot, move, written)
    if label is not None and summary is None and move.target is None:
        raise BadInputError(f"label {label!r}", "the root is no entry that could have one", "leave it out")
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
    """Raise StaleSummaryError where what a move leaves has more to tell of, or something else, than it had."""
    told, left = (list(_told_of(each)) for each in (before, now))
    if left != told:
        raise StaleSummaryError(GREW if left[: len(told)] == told else LEFT)


def _told_of(move: Move) -> Iterator[str]:
    """Return what a summary of a branch is about: its messages, and what decides which of them count."""
    return (
        entry.id
        for entry in move.to_summarize
        if has_message(entry) or entry.kind in ("compaction", "undone")
    )


def _step(snapshot: Snapshot, move: Move, written: BranchSummaryText | None) -> Record | None:
    """Return the entry that a move is, None where the session stays where it is."""
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
    """Stand at another entry, whatever it is, or at `ROOT`; the move is an entry below it, and its id is given.

    `expected` is the version of the session by which the target was chosen, None: the one that is found. Raises
    NotFoundError, and VersionConflictError where somebody appended in the meantime.
    """
    with writer.log.snapshot() as snapshot:
        here = resolve_cursor(snapshot, writer.session)
        there = resolve_cursor(snapshot, writer.session, leaf=target)
        version = snapshot.head(writer.session).version
        left, parent = (entry_id(snapshot, writer.session, at.leaf) for at in (here, there))
    since = version if expected is None else expected
    return writer.append(LeafMoved(from_id=left or ""), parent=parent, expected=since)[0]


NOTHING_TO_SUMMARIZE: Final = "what is left holds no message to summarize"


class MoveResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a move.

    `outcome`: it was made, a hook called it off, or others have changed what it leaves while a summary of that was
    made. `reason` is why, or why it was made without the summary that somebody was there to write. `is_summarized`:
    what is left has a summary. `events` are the ids of what was appended; `missing` the sections that the summary
    lacks; `troubles` what hooks that raised said.
    """

    outcome: Literal["moved", "cancelled", "overtaken"]
    move: Move
    reason: str = ""
    is_summarized: bool = False
    events: list[str] = []
    missing: list[str] = []
    troubles: list[str] = []


class Navigator(msgspec.Struct, frozen=True, kw_only=True):
    """Moves sessions: with who summarizes what is left, for which model, with which hooks.

    Without an `asker` nobody does. `tokens` counts; `sources` are where templates are looked for before those
    that come with refold; `reserve` tokens of the window stay free; None: 16,384, and in a small window
    15 % of it.
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
        """Go to an entry, or to `ROOT`, with the summary that is given, that a hook supplies, or that is asked for.

        Hooks are told whether a summary is requested, and one that they supply is used only then. Where nothing is
        left that says anything, none is asked for. A request that fails or is cancelled leaves the tree as it was,
        and an `attempt`. So does one during which others have said more on the branch, have compacted it, undone
        something, or left it: its summary is not of what would be left. Raises what `go` does, SummarizersFailedError,
        CancelledError.
        """
        move = plan_move(writer.log, writer.session, target)
        move = msgspec.structs.replace(move, summary_requested=summary is None and self.chain is not None)
        with recording_hook_errors(writer) as troubles:
            said = ask_hooks_before(self.hooks, "before_move", move, troubles)
            if isinstance(said, Cancel):
                writer.append(Decision(outcome=DecisionOutcome.CANCELLED, reason=said.reason))
                return MoveResult(outcome="cancelled", move=move, reason=said.reason, troubles=troubles)
            asked, reason = None, ""
            written = None if summary is None else BranchSummaryText(text=summary, of=move)
            if isinstance(said, SuppliedSummary) and has_content(move.to_summarize):
                written = BranchSummaryText(
                    text=said.summary, is_supplied=True, details=said.details, of=move
                )
            elif written is None and self.chain is not None:
                asked = summarize_branch(
                    writer,
                    move.to_summarize,
                    self.chain,
                    limits=self.limits,
                    tokens=self.tokens,
                    sources=self.sources,
                    instructions=instructions,
                    reserve=self.reserve,
                )
                if asked is None:
                    reason = NOTHING_TO_SUMMARIZE
                else:
                    request = request_record(asked.requests, missing=asked.missing)
                    written = BranchSummaryText(text=asked.text, request=request, of=move)
            try:
                moved = retry_on_conflict(lambda: go(writer, target, summary=written, label=label))
            except StaleSummaryError as error:
                if asked is not None:
                    request = {"reason": "branch", "requests": asked.requests}
                    writer.append(Attempt(request=request, error=str(error)))
                return MoveResult(outcome="overtaken", move=move, reason=str(error), troubles=troubles)
            for hooks in self.hooks:
                troubles.ask(hooks, "after_move", list(moved.events))
        return MoveResult(
            outcome="moved",
            move=moved.move,
            reason=reason,
            is_summarized=written is not None,
            events=list(moved.events),
            missing=asked.missing if asked else [],
            troubles=troubles,
        )
