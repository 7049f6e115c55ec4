"""Play the recorded demo session into a log, with real compactions at the recorded moments.

Each line of `session.jsonl` is a step with its time: a record to append unchanged (messages with the
provider's usage, settings, a label), or an action of the harness. For compactions, the recording holds only
the request. `reading.jsonl` has a model's answers about one compaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib.resources import files
from typing import Any, Final

import msgspec

from compaction.branching.move import Navigator
from compaction.compactor import Compactor
from compaction.judge.material import materials
from compaction.judge.reading import find_templates, judge
from compaction.maintainer import Maintainer
from compaction.part import Limits
from compaction.policy.load import parse_policy
from compaction.prompts import Prompt
from compaction.summarizers import Answer, Cancellation
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from eventstore.event import NewEvent
from eventstore.log import AppendResult, EventLog
from eventstore.memory import MemoryLog
from eventstore.records import record_of
from eventstore.writing import SessionWriter
from projections.context.cursor import resolve_cursor
from projections.tokens import counter

_JUDGED: Final = 2
"""The place of the boundary whose reading is recorded: the second compaction."""
SESSION: Final = "demo-rate-limiter"
"""The id of the session that `play` writes."""

POLICY: Final = parse_policy(
    """
    name = "frugal"
    extends = "refold"
    description = "Makes room over 24,500 tokens: 900 for a summary of all but the newest turn."

    [trigger]
    part = "threshold"
    tokens = 24_500

    [[rewrites]]
    part = "prune-turns"
    turns = 1
    protect = 0
    savings = 8_000

    [cut]
    part = "keep-recent"
    tokens = 1_000

    [prompting]
    part = "prompting"
    output = 900
    """,
    source="frugal",
)
"""The policy that keeps the demo's contexts small."""

_ID_STEP: Final = 0x9E3779B1
"""An odd number: its multiples visit all 32-bit numbers, so that ids look random."""


def play(log: EventLog) -> str:
    """Write the demo session into a log that lacks it, and return its id.

    Every run writes the same events, because ids are sequential and times come from the recording.
    """
    buffer = _BufferingLog()
    player = _Player(buffer)
    for line in _lines("session.jsonl"):
        player.play(line)
    player.judge()
    log.append(SESSION, buffer.appended)
    return SESSION


def _lines(name: str) -> list[bytes]:
    return files(__package__).joinpath(name).read_bytes().splitlines()


class _Step(msgspec.Struct, frozen=True):
    """The fields of a recorded line that the player reads.

    An action of the harness has the type `maintain` (check the context after a turn), `compact` (requested by
    the user) or `move` (go to the entry `target`, summarizing the branch left if `summarize`). Any other type
    is the kind of a record, and the line is its body.
    """

    time: datetime
    type: str
    target: str = ""
    summarize: bool = False


_decode_step: Final = msgspec.json.Decoder(_Step).decode


class _Player:
    """Executes recorded steps in one session."""

    def __init__(self, log: EventLog) -> None:
        self._now = self._ids = 0
        self._writer = SessionWriter(log, SESSION, clock=lambda: self._now, new_id=self._next_id)
        limits, tokens = Limits(window=200_000), counter(POLICY.counter)
        # A request's record holds its duration: use zero, so that every run is the same.
        chain = SummarizerChain(summarizers=[ExtractiveSummarizer()], seconds=lambda: 0.0)
        compactor = Compactor(policy=POLICY, chain=chain, limits=limits, tokens=tokens)
        self._maintainer = Maintainer(compactor=compactor, now=lambda: self._now)
        self._navigator = Navigator(limits=limits, tokens=tokens)
        self._summarizing_navigator = Navigator(limits=limits, tokens=tokens, chain=chain)

    def play(self, line: bytes) -> None:
        """Set the clock to a step's time, and execute the step."""
        step = _decode_step(line)
        self._now = round(step.time.timestamp() * 1000)
        match step.type:
            case "maintain":
                self._maintainer.after_turn(self._writer)
            case "compact":
                self._maintainer.compact(self._writer)
            case "move":
                navigator = self._summarizing_navigator if step.summarize else self._navigator
                navigator.go(self._writer, step.target)
            case kind:
                self._writer.append(record_of(kind, line))

    def judge(self) -> None:
        """Read a compaction by recorded answers, which are checked like any others."""
        with self._writer.log.snapshot() as snapshot:
            material = list(materials(snapshot, resolve_cursor(snapshot, SESSION)))[_JUDGED]
        answers = _RecordedAnswers([line.decode() for line in _lines("reading.jsonl")])
        chain = SummarizerChain(summarizers=[answers], seconds=lambda: 0.0)
        judge(self._writer, chain, material, find_templates(()))

    def _next_id(self) -> str:
        self._ids += 1
        return f"{self._ids * _ID_STEP & 0xFFFFFFFF:08x}"


class _RecordedAnswers:
    """Gives answers in turn, whatever it is asked."""

    name = "recorded"

    def __init__(self, answers: Iterable[str]) -> None:
        self._answers = iter(answers)

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the next answer."""
        del prompt, is_cancelled
        return Answer(text=next(self._answers), model="")


class _BufferingLog(MemoryLog):
    """An in-memory log that keeps its appends, so that a store gets them all in one flush."""

    def __init__(self) -> None:
        super().__init__(clock=lambda: 0)
        self.appended: list[NewEvent] = []

    def append(self, session: str, events: Sequence[NewEvent], **options: Any) -> AppendResult:
        done = super().append(session, events, **options)
        self.appended += events
        return done
