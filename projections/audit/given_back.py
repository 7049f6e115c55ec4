"""Follow quotations that refold gave back: the contexts of later windows have them or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

import msgspec

from eventstore.javascript import utf16_length
from eventstore.log import Snapshot
from eventstore.paths import own_notes
from projections.audit.measure import MetricStruct
from projections.audit.readings import Quotation
from projections.audit.said import Texts
from projections.context.cursor import Cursor
from projections.context.parts import Part
from projections.person_text import CUT


class ReturnedState(StrEnum):
    """The state of a quotation at the end of a window behind a later compaction."""

    KEPT = "kept"
    """The context has it word for word."""
    AGAIN = "given back again"
    GONE = "gone"


class ReturnedFate(MetricStruct, frozen=True):
    """The state of a quotation behind one later compaction."""

    boundary: str
    state: ReturnedState


class ReturnedQuotation(Quotation, frozen=True):
    """A quotation that was given back, and its fate behind each later compaction.

    `arrived`: the context behind its own compaction has it word for word.
    """

    arrived: bool
    fates: list[ReturnedFate]


class GivenBackAudit(MetricStruct, frozen=True):
    """Words and files that went back at one compaction, as a note says.

    `boundary` is the compaction, `seq` its number. `tokens` is an estimate: four UTF-16 units each.
    """

    boundary: str
    seq: int
    tokens: int
    quotations: list[ReturnedQuotation]
    files: list[str]


class _GivenBackNote(MetricStruct, frozen=True, tag_field="type", tag="given-back"):
    text: str
    rules: list[Quotation]
    messages: list[Quotation]
    files: list[str]


class Window(msgspec.Struct, frozen=True):
    """A compaction on a path, by id and number, and the last entry before the next one."""

    boundary: str
    seq: int
    end: int


def given_back(
    snapshot: Snapshot, cursor: Cursor, windows: Sequence[Window], parts_at: Callable[[int], Sequence[Part]]
) -> Iterator[GivenBackAudit]:
    """Yield the returns at the compactions of a path, in order.

    `parts_at` returns the context at an entry's number.
    """
    notes = dict(_notes(snapshot, cursor, windows))
    texts = {each.seq: Texts.of(parts_at(each.end)) for each in windows} if notes else {}
    for place, window in enumerate(windows):
        note = notes.get(window.seq)
        if note is None:
            continue

        def state(quote: str, later: Window) -> ReturnedState:
            again = notes.get(later.seq)
            if again is not None and any(quote == each.quote for each in (*again.rules, *again.messages)):
                return ReturnedState.AGAIN
            return ReturnedState.KEPT if _has(texts[later.seq], quote) else ReturnedState.GONE

        yield GivenBackAudit(
            boundary=window.boundary,
            seq=window.seq,
            tokens=-(-utf16_length(note.text) // 4),
            quotations=[
                ReturnedQuotation(
                    event=each.event,
                    seq=each.seq,
                    quote=each.quote,
                    arrived=_has(texts[window.seq], each.quote),
                    fates=[
                        ReturnedFate(boundary=later.boundary, state=state(each.quote, later))
                        for later in windows[place + 1 :]
                    ],
                )
                for each in (*note.rules, *note.messages)
            ],
            files=note.files,
        )


def _notes(
    snapshot: Snapshot, cursor: Cursor, windows: Sequence[Window]
) -> Iterator[tuple[int, _GivenBackNote]]:
    """Yield each note with the number of the compaction behind which it was given."""
    for note, given in own_notes(snapshot, cursor.session, _GivenBackNote, last=cursor.as_of):
        above = snapshot.locate(cursor.session, note.target_id)
        window = next((each for each in windows if each.seq > above), None)
        if window is not None:
            yield window.seq, given


def _has(texts: Texts, quote: str) -> bool:
    return texts.has(quote.removesuffix(CUT))
