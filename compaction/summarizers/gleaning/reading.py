"""Reading messages for a summary, one after the other, as long as nobody calls it off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from compaction.summarizers.summarizer import Cancellation, CancelledError
from eventstore.formats import view_of_message
from eventstore.views import Message
from projections.context.parts import Part
from projections.continuation import WORD
from projections.mentions.message_facts import Holding, Lines, holding


class Read(NamedTuple):
    """A message and what it holds."""

    view: Message
    held: Holding


def read(parts: Sequence[Part], is_cancelled: Cancellation) -> Iterator[Read]:
    """Messages with what they hold, in order; lines that stand in several are looked at once.

    A word to go on after a compaction says nothing, and is passed over. Raises CancelledError.
    """
    lines = Lines()
    for part in parts:
        if is_cancelled():
            raise CancelledError
        view = view_of_message(part.raw)
        if part.continues and view.text == WORD:
            continue
        yield Read(view, holding(part.seq, part.id, view, lines))
