"""How a harness in another language talks to the maintainer: a line of JSON says what happened, one what to do."""

from __future__ import annotations

from typing import Final

import msgspec

from compaction.compactor import Compacted
from compaction.maintaining import Advice, Maintainer
from compaction.summaries.summary import Wishes
from eventstore.errors import BadInputError, RefoldError
from eventstore.writing import SessionWriter


class _Happened(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="on"):
    """Something that a harness tells."""


class BeforeRequest(_Happened, frozen=True, tag="before_request"):
    """A request is going to be sent."""


class AfterTurn(_Happened, frozen=True, tag="after_turn"):
    """An answer has come, and is in the log; `model` is the one in use now."""

    model: str | None = None


class Failed(_Happened, frozen=True, tag="error"):
    """A request was refused, with this text; `model` is the one in use now."""

    error: str
    model: str | None = None


class Idle(_Happened, frozen=True, tag="idle"):
    """Nothing has happened for so many seconds."""

    seconds: float


class Compact(_Happened, frozen=True, tag="compact"):
    """A person, or a model by its tool, asks for a compaction."""

    instructions: str = ""


Happened = BeforeRequest | AfterTurn | Failed | Idle | Compact
_happened: Final = msgspec.json.Decoder(Happened)


def answer(maintainer: Maintainer, writer: SessionWriter, line: bytes, number: int) -> Advice:
    """What to do after what a line says; what is wrong with it, or went wrong, is the answer's `error`."""
    try:
        return _advice(maintainer, writer, _read(line, number))
    except RefoldError as error:
        return Advice(error=str(error))


def _read(line: bytes, number: int) -> Happened:
    try:
        happened: Happened = _happened.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        known = 'give an object with "on": before_request, after_turn, error, idle or compact'
        raise BadInputError("standard input", str(error), known, line=number) from None
    return happened


def _advice(maintainer: Maintainer, writer: SessionWriter, happened: Happened) -> Advice:
    match happened:
        case BeforeRequest():
            return maintainer.before_request(writer)
        case AfterTurn(model=model):
            return maintainer.after_turn(writer, model=model)
        case Failed(error=error, model=model):
            return maintainer.on_error(writer, error, model=model)
        case Idle(seconds=seconds):
            return maintainer.on_idle(writer, seconds)
        case Compact(instructions=instructions):
            return _of_compaction(maintainer.compact(writer, Wishes(instructions=instructions)))


def _of_compaction(done: Compacted) -> Advice:
    is_done = done.outcome == "compacted"
    return Advice(
        reason="manual" if is_done else done.reason,
        history_rewritten=is_done,
        events=[*done.decisions, *done.events],
        tokens=done.tokens_after,
    )
