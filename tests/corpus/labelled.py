"""Read the labels of real sessions, the verdicts on claims about them, and the sessions themselves."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

import msgspec

from compaction.prompts import Prompt
from compaction.rule_reader import read_rules
from compaction.summarizers import Answer, Cancellation
from compaction.summarizers.chain import SummarizerChain
from eventstore import EventLog
from eventstore.files.importing import import_file
from eventstore.writing import SessionWriter
from tests.support.foreign import Foreign, Points, append_codex, append_opencode

Verdict = Literal["right/useful", "right/useless", "wrong"]
Weight = Literal["serious", "minor", "trivial"]
State = Literal["kept", "gone", "tail"]
FOLDER: Final = Path(__file__).parent


class _Struct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    note: str = ""


class LabelledRule(_Struct, frozen=True, kw_only=True):
    """A standing rule of the person, and its state after the boundary."""

    what: str
    ids: list[str] = []
    lines: list[int] = []
    state: State
    sure: bool = True
    broken: list[str] = []
    broken_lines: list[int] = []
    repeated: list[str] = []
    repeated_lines: list[int] = []

    @property
    def is_missed(self) -> bool:
        """True if it was broken behind the boundary, or had to be repeated."""
        return bool(self.broken or self.broken_lines or self.repeated or self.repeated_lines)


class LabelledTask(_Struct, frozen=True, kw_only=True):
    """A task that the person gave, and what became of it."""

    what: str
    ids: list[str] = []
    lines: list[int] = []
    state: Literal["done", "unfinished", "dropped"]
    seen: list[str] = []
    seen_lines: list[int] = []


class LabelledLoss(_Struct, frozen=True, kw_only=True):
    """Something known before the boundary and missed behind it."""

    what: str
    known: list[str] = []
    known_lines: list[int] = []
    missed: list[str] = []
    missed_lines: list[int] = []
    weight: Weight
    model_needed: bool


class LabelledClaim(_Struct, frozen=True, kw_only=True):
    """A sentence that an audit could print."""

    claim: str
    ids: list[str] = []
    lines: list[int] = []
    verdict: Verdict


class Boundary(_Struct, frozen=True, kw_only=True):
    """A compaction and everything labelled about it."""

    id: str = ""
    line: int = 0
    rules: list[LabelledRule] = msgspec.field(name="rule", default_factory=list)
    tasks: list[LabelledTask] = msgspec.field(name="task", default_factory=list)
    losses: list[LabelledLoss] = msgspec.field(name="loss", default_factory=list)
    claims: list[LabelledClaim] = msgspec.field(name="claim", default_factory=list)


class Labels(_Struct, frozen=True, kw_only=True):
    """The labels of a session."""

    session: str
    harness: str
    boundaries: list[Boundary] = msgspec.field(name="boundary", default_factory=list)


class ReadClaim(_Struct, frozen=True, kw_only=True):
    """The verdict of a person who read a claim of an audit; `loss` is the labelled loss that it reports.

    A claim about the state of a task names it as its `task`, because the same sentence may be claimed to be a rule.
    """

    text: str
    ids: list[str]
    verdict: Verdict
    loss: str = ""
    task: str = ""


class _Verdicts(_Struct, frozen=True, kw_only=True):
    claims: list[ReadClaim] = msgspec.field(name="claim", default_factory=list)


class Source(NamedTuple):
    """The file of a labelled session, relative to the corpus or absolute, and how it gets into a log."""

    file: str
    append: Callable[[EventLog, Path], Foreign]


def _imported(log: EventLog, path: Path) -> Foreign:
    """Import a session file; its records' ids are those of the events."""
    points: dict[str, list[str]] = {}
    for line, content in enumerate(path.read_bytes().splitlines(), 1):
        record = json.loads(content)
        name = record.get("uuid") or record.get("id")
        if name:
            points[f"line-{line}"] = points[name] = [name]
    return Foreign(import_file(log, path).id, points)


def _recorded(log: EventLog, path: Path) -> Foreign:
    """Import a compressed session file."""
    with TemporaryDirectory() as folder:
        plain = Path(folder, path.stem)
        plain.write_bytes(lzma.decompress(path.read_bytes()))
        return _imported(log, plain)


def _in_tests(name: str) -> Source:
    return Source(str(FOLDER / "recorded" / f"{name}.jsonl.xz"), _recorded)


CORPUS: Final = {
    "6113e919": Source("claude-code/6113e919-3auto.jsonl", _imported),
    "pi-mono-before-compaction": Source("pi/pi-mono-before-compaction.v3.jsonl", _imported),
    "67d765b5": Source("claude-code/67d765b5-manual.jsonl", _imported),
    "019d7d08": Source("codex/rollout-019d7d08-parent.jsonl", append_codex),
    "k1-first-300": Source("opencode/k1-first-300-messages.json", append_opencode),
}
"""Real sessions, all of which were looked at while building."""
STAGED: Final = {name: _in_tests(name) for name in ("csvmill", "logsift", "tally")}
"""Sessions that were staged for this purpose and looked at while building."""
HELD_OUT: Final = {name: _in_tests(name) for name in ("dungeon", "feedbot", "pressroom", "ringq", "slotbook")}
"""Staged sessions that nobody looked at while building."""
SESSIONS: Final = {**CORPUS, **STAGED, **HELD_OUT}


def labels_of(session: str) -> Labels:
    """Return the labels of a session. Raises msgspec.ValidationError for an unknown key."""
    return msgspec.toml.decode((FOLDER / "labels" / f"{session}.toml").read_bytes(), type=Labels)


def verdicts_of(session: str) -> list[ReadClaim]:
    """Return the claims about a session that a person has read."""
    path = FOLDER / "verdicts" / f"{session}.toml"
    return msgspec.toml.decode(path.read_bytes(), type=_Verdicts).claims if path.exists() else []


class _Answers:
    """A summarizer that gives a model's recorded answers, in order."""

    name = "answers"

    def __init__(self, answers: Iterable[str]) -> None:
        self._answers = iter(answers)

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        del prompt, is_cancelled
        return Answer(text=next(self._answers), model="claude")


def read_by_model(log: EventLog, session: str, name: str) -> None:
    """Store what a model read in a session: its answers to the requests of `refold rules`, in order."""
    answers = json.loads((FOLDER / "readings" / f"{name}.json").read_bytes())
    chain = SummarizerChain(summarizers=[_Answers(map(json.dumps, answers))])
    read_rules(SessionWriter(log, session), chain)


def events_at(points: Points, ids: list[str], lines: list[int]) -> frozenset[str]:
    """Return the events that ids and line numbers of labels stand for."""
    names: Iterator[str] = iter((*ids, *(f"line-{line}" for line in lines)))
    return frozenset(event for name in names for event in points.get(name, ()))
