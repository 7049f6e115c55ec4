"""What follows a compaction that nobody asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from compaction.reason import Reason
from eventstore.event import Event
from eventstore.records import CustomMessage, MessageRecord
from projections.context.parts import Part


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction at hand: the messages `before` it and the `entries` that these are of; those in `kept` stay.

    `is_open`: calls of the newest answer are in flight.
    """

    before: Sequence[Part]
    kept: AbstractSet[str]
    entries: Sequence[Event]
    is_open: bool = False


class Continued(msgspec.Struct, frozen=True, kw_only=True):
    """Which of its ways a continuation took, and why; `record` is the message to append, None for none.

    `evicts`: images in what was kept have to give way, too. `repeats_request`: the record is what a person asked for,
    which nobody has answered, and no mere word to go on.
    """

    branch: str
    reason: str
    record: MessageRecord | CustomMessage | None = None
    evicts: bool = False
    repeats_request: bool = False


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """A way to go on after a compaction.

    `name` is what policies call it; `after` says what follows where no calls are open. It is due for `reasons`, with
    `only_after_turn` only where no request is on its way.
    """

    name: str
    after: Callable[[Situation], Continued]
    reasons: frozenset[Reason]
    only_after_turn: bool = False

    def following(self, situation: Situation) -> Continued:
        """What follows; no message while calls are open, for it would stand between a call and its result."""
        found = self.after(situation)
        if not situation.is_open or found.record is None:
            return found
        return msgspec.structs.replace(found, reason=f"{found.reason}, but calls are open", record=None)

    def is_due(self, reason: Reason, *, is_after_turn: bool) -> bool:
        """Whether it follows a compaction that nobody asked for; `is_after_turn`: a turn has just ended."""
        return reason in self.reasons and (is_after_turn or not self.only_after_turn)
