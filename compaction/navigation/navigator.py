"""Going elsewhere with all that belongs to it: hooks are asked, and what is left is summarized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from compaction.hooks import Cancel, Hooks, Supplied, decided, recorded_troubles
from compaction.navigation.branch import says_anything
from compaction.navigation.navigate import Move, OvertakenError, Written, go, plan_move
from compaction.navigation.summarize_branch import summarize_branch
from compaction.part import Limits
from compaction.summarizers.asking import Asker, Reply, request_record
from compaction.templates import Source
from eventstore.records import Attempt, Decision, DecisionOutcome
from eventstore.writing import SessionWriter, until_ours
from projections.context.cursor import Leaf
from projections.tokens import Counter

NOTHING_TO_SUMMARIZE: Final = "what is left holds no message to summarize"


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a move.

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
    """How one goes elsewhere in sessions: who summarizes what is left, for which model, with which hooks.

    Without an `asker` nobody does. `tokens` counts; `sources` are where templates are looked for before those
    that come with refold; `reserve` tokens of the window stay free; None: 16,384, and in a small window
    15 % of it.
    """

    limits: Limits
    tokens: Counter
    asker: Asker | None = None
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
    ) -> Gone:
        """Go to an entry, or to `ROOT`, with the summary that is given, that a hook supplies, or that is asked for.

        Hooks are told whether a summary is requested, and one that they supply is used only then. Where nothing is
        left that says anything, none is asked for. A request that fails or is cancelled leaves the tree as it was,
        and an `attempt`. So does one during which others have said more on the branch, have compacted it, undone
        something, or left it: its summary is not of what would be left. Raises what `go` does, AskingError,
        CancelledError.
        """
        move = plan_move(writer.log, writer.session, target)
        is_requested = summary is None and self.asker is not None
        move = msgspec.structs.replace(move, summary_requested=is_requested)
        with recorded_troubles(writer) as troubles:
            said = decided(self.hooks, "before_move", move, troubles)
            if isinstance(said, Cancel):
                writer.append(Decision(outcome=DecisionOutcome.CANCELLED, reason=said.reason))
                return Gone(outcome="cancelled", move=move, reason=said.reason, troubles=troubles)
            asked, reason = None, ""
            written = None if summary is None else Written(text=summary, of=move)
            if isinstance(said, Supplied) and says_anything(move.to_summarize):
                written = Written(text=said.summary, is_supplied=True, details=said.details, of=move)
            elif written is None and self.asker is not None:
                asked = self._asked(writer, move, self.asker, instructions)
                if asked is None:
                    reason = NOTHING_TO_SUMMARIZE
                else:
                    request = request_record(asked.requests, missing=asked.missing)
                    written = Written(text=asked.text, request=request, of=move)
            try:
                moved = until_ours(lambda: go(writer, target, summary=written, label=label))
            except OvertakenError as error:
                if asked is not None:
                    request = {"reason": "branch", "requests": asked.requests}
                    writer.append(Attempt(request=request, error=str(error)))
                return Gone(outcome="overtaken", move=move, reason=str(error), troubles=troubles)
            for hooks in self.hooks:
                troubles.ask(hooks, "after_move", list(moved.events))
        return Gone(
            outcome="moved",
            move=moved.move,
            reason=reason,
            is_summarized=written is not None,
            events=list(moved.events),
            missing=asked.missing if asked else [],
            troubles=troubles,
        )

    def _asked(self, writer: SessionWriter, move: Move, asker: Asker, instructions: str) -> Reply | None:
        return summarize_branch(
            writer,
            move,
            asker,
            limits=self.limits,
            tokens=self.tokens,
            sources=self.sources,
            instructions=instructions,
            reserve=self.reserve,
        )
