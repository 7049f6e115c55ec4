"""The newest answer of a session: whether it went through, and what there was before it."""

from __future__ import annotations

from typing import Final

import msgspec

from compaction.navigation.branch import SAYS_NOTHING
from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.frame import decode
from eventstore.log import Snapshot
from eventstore.views import Message

WENT_WRONG: Final = frozenset({"aborted", "error"})
CUT_OFF: Final = "length"


class Newest(msgspec.Struct, frozen=True, kw_only=True):
    """What a session ends with, moves, labels and titles aside.

    `entry` is the newest entry, None for an empty session, `answer` its message if it is an answer. `before`
    is what the session would end with, had the answers at its end that failed or were cut off not come.
    """

    entry: Event | None
    answer: Message | None
    before: Event | None

    @property
    def stop(self) -> str:
        """Why the answer ended, "" without one."""
        return self.answer.stop_reason if self.answer else ""

    @property
    def has_failed(self) -> bool:
        """Whether it ends with an answer that failed or was cut off."""
        return self.entry is not self.before

    def is_of(self, model: str) -> bool:
        """Whether the answer is of a model, told by its name or as provider/name; without a model it may be."""
        answer = self.answer
        return (
            answer is None or not answer.model or model in (answer.model, f"{answer.provider}/{answer.model}")
        )


def newest(snapshot: Snapshot, session: str) -> Newest:
    """What a session ends with. Raises NotFoundError."""
    entry = _telling(snapshot, session, snapshot.head(session).leaf)
    answer = _answer(entry)
    before = entry
    while before is not None and (said := _answer(before)) and said.stop_reason in (CUT_OFF, "error"):
        before = _telling(snapshot, session, before.parent_seq)
    return Newest(entry=entry, answer=answer, before=before)


def _telling(snapshot: Snapshot, session: str, seq: int) -> Event | None:
    """The entry at a number, or the first above it that tells a model something."""
    while seq:
        entry = decode(snapshot.frame(session, seq), session)
        if entry.kind not in SAYS_NOTHING:
            return entry
        seq = entry.parent_seq
    return None


def _answer(entry: Event | None) -> Message | None:
    return view_of_event(entry) if entry is not None and entry.role == "assistant" else None
