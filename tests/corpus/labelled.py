"""Read the labels of real and staged sessions, and the sessions themselves."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

import msgspec

from eventstore import EventLog
from eventstore.files.importing import import_file
from tests.support.foreign import Foreign, append_codex, append_opencode

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
