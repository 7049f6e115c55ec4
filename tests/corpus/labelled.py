"""Read the labels of real and staged sessions, and the sessions themselves."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Final, Literal

import msgspec

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


CORPUS: Final = {
    "6113e919": "claude-code/6113e919-3auto.jsonl",
    "pi-mono-before-compaction": "pi/pi-mono-before-compaction.v3.jsonl",
    "67d765b5": "claude-code/67d765b5-manual.jsonl",
    "019d7d08": "codex/rollout-019d7d08-parent.jsonl",
    "k1-first-300": "opencode/k1-first-300-messages.json",
}
"""Real sessions, all of which were looked at while building."""
STAGED: Final = ("csvmill", "logsift", "tally")
"""Sessions that were staged for this purpose and looked at while building."""
HELD_OUT: Final = ("dungeon", "feedbot", "pressroom", "ringq", "slotbook")
"""Staged sessions that nobody looked at while building."""
SESSIONS: Final = (*CORPUS, *STAGED, *HELD_OUT)


def labels_of(session: str) -> Labels:
    """Return the labels of a session. Raises msgspec.ValidationError for an unknown key."""
    return msgspec.toml.decode((FOLDER / "labels" / f"{session}.toml").read_bytes(), type=Labels)


def contents_of(session: str, corpus: Path | None) -> bytes:
    """Return the file of a session, which lies in the corpus unless it was staged."""
    if session in CORPUS:
        assert corpus
        return (corpus / CORPUS[session]).read_bytes()
    return lzma.decompress((FOLDER / "recorded" / f"{session}.jsonl.xz").read_bytes())
