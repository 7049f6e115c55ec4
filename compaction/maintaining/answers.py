"""The newest answer of a session: whether it went through, and what there was before it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from compaction.navigation.branch import SAYS_NOTHING
from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.frame import decode
from eventstore.log import Snapshot
from eventstore.views import Message
from projections.settings import settings_at
from projections.usage import CUT_OFF

_LEFT_OUT: Final = frozenset({"error", CUT_OFF})
"""Stop reasons of answers that leave the context once they are recovered."""
_SETTINGS: Final = frozenset({"model_change", "thinking_level_change"})


class Newest(msgspec.Struct, frozen=True, kw_only=True):
    """What a session ends with, moves, labels and titles aside.

    `entry` is the newest entry, None for an empty session. `answer` is its message if it is an answer, or the
    one before it if only the model or the thinking level has changed since. `before` is what the session would
    end with, had the answers at its end that failed or were cut off not come. `model` is the one in use, as
    provider/name, "" where the log names none.
    """

    entry: Event | None
    answer: Message | None
    before: Event | None
    model: str = ""

    @property
    def stop(self) -> str:
        """Why the answer ended, "" without one."""
        return self.answer.stop_reason if self.answer else ""

    @property
    def has_failed(self) -> bool:
        """Whether it ends with an answer that failed or was cut off."""
        return self.entry is not self.before

    @property
    def is_left_out(self) -> bool:
        """Whether the answer is one that leaves the context when it is recovered."""
        return self.stop in _LEFT_OUT

    def is_of(self, model: str | None = None) -> bool:
        """Whether the answer is of a model, told by its name or as provider/name; None: of the one in use.

        Where there is no answer, or it names no model, it may be.
        """
        answer, wanted = self.answer, model or self.model
        if answer is None or not answer.model or not wanted:
            return True
        return wanted in (answer.model, f"{answer.provider}/{answer.model}")


def newest(snapshot: Snapshot, session: str) -> Newest:
    """What a session ends with. Raises NotFoundError."""
    leaf = snapshot.head(session).leaf
    entry = _telling(snapshot, session, leaf)
    before = entry
    while before is not None and (said := _answer(before)) and said.stop_reason in _LEFT_OUT:
        before = _telling(snapshot, session, before.parent_seq)
    model = settings_at(snapshot, session, leaf).model
    return Newest(
        entry=entry,
        answer=_answer(_telling(snapshot, session, leaf, besides=_SETTINGS)),
        before=before,
        model=str(model) if model is not None else "",
    )


def _telling(
    snapshot: Snapshot, session: str, seq: int, *, besides: AbstractSet[str] = frozenset()
) -> Event | None:
    """The entry at a number, or the first above it that tells a model something; some kinds are passed over."""
    while seq:
        entry = decode(snapshot.frame(session, seq), session)
        if entry.kind not in SAYS_NOTHING and entry.kind not in besides:
            return entry
        seq = entry.parent_seq
    return None


def _answer(entry: Event | None) -> Message | None:
    return view_of_event(entry) if entry is not None and entry.role == "assistant" else None
