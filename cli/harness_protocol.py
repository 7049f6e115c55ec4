"""The protocol of `refold maintain`: JSON lines with events in, JSON lines with actions out."""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, Final, Generic, Protocol, TypeVar

import msgspec

from compaction.compactor import CompactionResult
from compaction.maintainer import Maintainer, Recommendation, Settings
from compaction.part import Limits
from compaction.summarizers.chain import attempt_ids
from compaction.summary import SummaryOptions
from compaction.validation import InvalidInputError, Keys, ValidationIssue, key_path, validate
from eventstore.errors import BadInputError, RefoldError
from eventstore.writing import SessionWriter

_ADVICE: Final = "docs/policies.md lists the settings"
_CAPITAL: Final = re.compile("(?<=[a-z])(?=[A-Z])")


def load_settings(path: str, limits: Limits | None = None) -> Settings:
    """Load the settings in a file and check them against a model's limits, if given.

    Raises BadInputError, which names the file, and InvalidInputError, which lists every invalid key.
    """
    try:
        given = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BadInputError(path, str(error.strerror), "name a TOML file with settings") from None
    except (ValueError, RecursionError) as error:
        raise BadInputError(path, f"is not valid TOML ({error})", _ADVICE) from None
    return parse_settings(given, path, limits)


def parse_settings(given: Mapping[str, Any], source: str, limits: Limits | None = None) -> Settings:
    """Return the settings of automatic compaction by refold's or the harness's keys.

    Raises InvalidInputError, which lists every key that is invalid or does not fit the model, as written.
    """
    written: dict[str, list[str]] = {}
    named = _with_our_keys(given, written)
    again = [(key, first) for first, *others in written.values() for key in others]
    twice = [ValidationIssue(key, f"it repeats {first}", "leave one of them out") for key, first in again]
    settings = validate(named, Settings)
    wrong = settings if isinstance(settings, list) else settings.find_issues(limits) if limits else []
    as_written = [
        msgspec.structs.replace(each, where=written.get(each.where, [each.where])[-1]) for each in wrong
    ]
    if isinstance(settings, list) or twice or as_written:
        raise InvalidInputError(source, [*twice, *as_written])
    return settings


def _with_our_keys(
    given: Mapping[str, Any], written: dict[str, list[str]], ours: Keys = (), theirs: Keys = ()
) -> dict[str, Any]:
    """Return a table with refold's key names; `written` maps their paths to the originals."""
    named: dict[str, Any] = {}
    for key, value in given.items():
        name = _CAPITAL.sub("_", key).lower()
        our, their = (*ours, name), (*theirs, key)
        written.setdefault(key_path(our), []).append(key_path(their))
        named[name] = _with_our_keys(value, written, our, their) if isinstance(value, dict) else value
    return named


class ParsedInput(Protocol):
    """A parsed line of input."""

    @property
    def cancels(self) -> bool:
        """True if the line cancels the work that earlier lines started."""


S = TypeVar("S", bound=ParsedInput)


class ReadAheadLines(Generic[S]):
    """Parsed input lines, read ahead by a thread so that a line can cancel work in progress.

    `read` parses a line, given as bytes, and its number; it is called once per line, in that thread. Any
    number of lines is read ahead, because a cancelling line must be seen behind all others: a writer that
    does not wait for answers makes memory use grow.
    """

    def __init__(self, stream: BinaryIO, read: Callable[[bytes, int], S]) -> None:
        self._stream, self._read = _reopened(stream), read
        self._ahead: SimpleQueue[S | Exception | None] = SimpleQueue()
        self._came = self._taken = 0

    def __iter__(self) -> Iterator[S]:
        """Yield the lines in order, as they arrive. Raises what reading raises."""
        Thread(target=self._read_all, name="refold lines", daemon=True).start()
        while (parsed := self._ahead.get()) is not None:
            if isinstance(parsed, Exception):
                raise parsed
            self._taken += parsed.cancels
            yield parsed

    def is_cancelled(self) -> bool:
        """Return True if a cancelling line waits after the current one."""
        # It cancels all lines before it, even those not yet started: cancelling only the current work
        # would let the others run.
        return self._came > self._taken

    def _read_all(self) -> None:
        try:
            for number, line in enumerate(self._stream, 1):
                parsed = self._read(line, number)
                self._came += parsed.cancels
                self._ahead.put(parsed)
        except Exception as error:  # noqa: BLE001  raised again by who takes the lines
            self._ahead.put(error)
        self._ahead.put(None)


def _reopened(stream: BinaryIO) -> BinaryIO:
    """Reopen the input: at exit, Python would wait for the thread that reads its own `stdin`."""
    try:
        return open(stream.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:
        return stream


_ON: Final = "on"


class _HarnessEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field=_ON):
    """An event that a harness reports."""


class BeforeRequest(_HarnessEvent, frozen=True, tag="before_request"):
    """A request is about to be sent."""


class AfterTurn(_HarnessEvent, frozen=True, tag="after_turn"):
    """An answer has arrived and is in the log; `model` is the one in use now."""

    model: str | None = None


class Failed(_HarnessEvent, frozen=True, tag="error"):
    """A request was refused with this error text; `model` is the one in use now."""

    error: str
    model: str | None = None


class Idle(_HarnessEvent, frozen=True, tag="idle"):
    """Nothing has happened for this many seconds."""

    seconds: float


class Compact(_HarnessEvent, frozen=True, tag="compact"):
    """A person, or a model through its tool, requests a compaction."""

    instructions: str = ""


class Abort(_HarnessEvent, frozen=True, tag="abort"):
    """Cancel the work in progress; the reader thread does that at once."""


HarnessEvent = BeforeRequest | AfterTurn | Failed | Idle | Compact | Abort
_decoder: Final = msgspec.json.Decoder(HarnessEvent)
_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Reply(Recommendation, frozen=True, kw_only=True, rename="camel"):
    """The recommended action for the harness, and the fields of its line that were ignored."""

    ignored: tuple[str, ...] = ()


class ParsedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed line and its unknown fields, or the problem with it."""

    event: HarnessEvent | None = None
    ignored: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def cancels(self) -> bool:
        """True if the line cancels earlier work: a person's request takes precedence."""
        return isinstance(self.event, Compact | Abort)


BLANK: Final = ParsedLine()
"""An empty line, which gets no reply."""


def parse_line(line: bytes, number: int) -> ParsedLine:
    """Parse input line `number`."""
    if not line.strip():
        return BLANK
    try:
        event: HarnessEvent = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        known = 'give an object with "on": before_request, after_turn, error, idle, compact or abort'
        return ParsedLine(problem=str(BadInputError("standard input", str(error), known, line=number)))
    known_fields = (_ON, *event.__struct_encode_fields__)
    return ParsedLine(
        event=event, ignored=tuple(field for field in _fields.decode(line) if field not in known_fields)
    )


def reply_to(maintainer: Maintainer, writer: SessionWriter, line: ParsedLine) -> Reply:
    """Do what a line requests and return the reply; its `error` says what went wrong."""
    if line.event is None:
        return Reply(error=line.problem)
    try:
        recommendation = _advice(maintainer, writer, line.event)
    except RefoldError as error:
        recommendation = Recommendation(error=str(error), events=attempt_ids(error))
    return Reply(**msgspec.structs.asdict(recommendation), ignored=line.ignored)


def _advice(maintainer: Maintainer, writer: SessionWriter, event: HarnessEvent) -> Recommendation:
    match event:
        case BeforeRequest():
            return maintainer.before_request(writer)
        case AfterTurn(model=model):
            return maintainer.after_turn(writer, model=model)
        case Failed(error=error, model=model):
            return maintainer.on_error(writer, error, model=model)
        case Idle(seconds=seconds):
            return maintainer.on_idle(writer, seconds)
        case Compact(instructions=instructions):
            return _of_compaction(maintainer.compact(writer, SummaryOptions(instructions=instructions)))
        case Abort():
            return Recommendation(reason="nothing runs")


def _of_compaction(done: CompactionResult) -> Recommendation:
    is_done = done.outcome == "compacted"
    return Recommendation(
        reason="manual" if is_done else done.reason,
        history_rewritten=is_done,
        events=[*done.decisions, *done.events],
        tokens=done.tokens_after,
        warning=done.warning or None,
    )
