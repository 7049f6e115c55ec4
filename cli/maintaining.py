"""How a harness in another language talks to the maintainer: a line of JSON says what happened, one what to do."""

from __future__ import annotations

from typing import Final

import msgspec

from compaction.attempts import attempt_of
from compaction.compactor import Compacted
from compaction.maintaining.advice import Advice
from compaction.maintaining.maintainer import Maintainer
from compaction.summaries.summary import Wishes
from eventstore.errors import BadInputError, RefoldError
from eventstore.writing import SessionWriter

_ON: Final = "on"


class _Happened(msgspec.Struct, frozen=True, kw_only=True, tag_field=_ON):
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


class Abort(_Happened, frozen=True, tag="abort"):
    """What runs is called off: whoever reads it does so, and nothing runs any more when its turn comes."""


Happened = BeforeRequest | AfterTurn | Failed | Idle | Compact | Abort
_happened: Final = msgspec.json.Decoder(Happened)
_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Answer(Advice, frozen=True, kw_only=True, rename="camel"):
    """What to do, and which fields of the line nobody has looked at."""

    ignored: tuple[str, ...] = ()


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a line says, and its fields that nobody knows; or what is wrong with it."""

    happened: Happened | None = None
    ignored: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def calls_off(self) -> bool:
        """Whether it calls off what the lines before it have begun: a person's request does, and goes first."""
        return isinstance(self.happened, Compact | Abort)


BLANK: Final = Told()
"""A line that says nothing, and gets no answer."""


def told(line: bytes, number: int) -> Told:
    """What the line of this number says."""
    if not line.strip():
        return BLANK
    try:
        happened: Happened = _happened.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        known = 'give an object with "on": before_request, after_turn, error, idle, compact or abort'
        return Told(problem=str(BadInputError("standard input", str(error), known, line=number)))
    known_fields = (_ON, *happened.__struct_encode_fields__)
    return Told(
        happened=happened, ignored=tuple(field for field in _fields.decode(line) if field not in known_fields)
    )


def answer(maintainer: Maintainer, writer: SessionWriter, line: Told) -> Answer:
    """What to do after what a line says; what is wrong with it, or went wrong, is the answer's `error`."""
    if line.happened is None:
        return Answer(error=line.problem)
    try:
        advice = _advice(maintainer, writer, line.happened)
    except RefoldError as error:
        advice = Advice(error=str(error), events=attempt_of(error))
    return Answer(**msgspec.structs.asdict(advice), ignored=line.ignored)


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
        case Abort():
            return Advice(reason="nothing runs")


def _of_compaction(done: Compacted) -> Advice:
    is_done = done.outcome == "compacted"
    return Advice(
        reason="manual" if is_done else done.reason,
        history_rewritten=is_done,
        events=[*done.decisions, *done.events],
        tokens=done.tokens_after,
        warning=done.warning or None,
    )
