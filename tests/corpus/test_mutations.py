"""Real files, hurt at random: whatever a crash or an editor leaves, no record that is whole is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cli.demo.player import play
from eventstore import export_original, export_session, import_file, open_store
from eventstore.errors import BadInputError
from eventstore.files.importing import import_sessions
from eventstore.frame import body_of
from eventstore.memory import MemoryLog
from eventstore.paths import events
from eventstore.verify import verify
from projections.context.build import build_context, context_at
from projections.context.cursor import resolve_cursor
from projections.tree import tree
from tests.support.oracles import check_bodies

ROUNDS = 60
LINES = 40
CONTEXTS = 200
"""Contexts to check of each folder and seed, with three bodies each."""


def demo_lines() -> list[bytes]:
    log = MemoryLog(clock=lambda: 0)
    return b"".join(export_session(log, play(log), "pi")).splitlines(keepends=True)[:LINES]


def flip(lines: list[bytes], dice: random.Random) -> None:
    at = dice.randrange(len(lines))
    line = bytearray(lines[at])
    for _ in range(dice.randint(1, 5)):
        line[dice.randrange(len(line))] = dice.randrange(256)
    lines[at] = bytes(line)


def cut(lines: list[bytes], dice: random.Random) -> None:
    at = dice.randrange(len(lines))
    start = dice.randrange(len(lines[at]))
    lines[at] = lines[at][:start] + lines[at][start + dice.randint(1, 200) :]


def insert(lines: list[bytes], dice: random.Random) -> None:
    at = dice.randrange(len(lines))
    start = dice.randrange(len(lines[at]))
    lines[at] = lines[at][:start] + dice.randbytes(dice.randint(1, 20)) + lines[at][start:]


def glue(lines: list[bytes], dice: random.Random) -> None:
    at = dice.randrange(len(lines))
    lines[at] = lines[at].rstrip(b"\n")


def repeat(lines: list[bytes], dice: random.Random) -> None:
    lines.insert(dice.randrange(len(lines)), dice.choice(lines))


def swap(lines: list[bytes], dice: random.Random) -> None:
    a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def tear(lines: list[bytes], dice: random.Random) -> None:
    lines[-1] = lines[-1][: dice.randrange(len(lines[-1]))]


def blank(lines: list[bytes], dice: random.Random) -> None:
    lines.insert(
        dice.randrange(len(lines)), dice.choice([b"\n", b"\r\n", b" \n", b"null\n", b"{}\n", b"[\n"])
    )


REAL = [
    "pi/pi-mono-before-compaction.v1.jsonl",
    "pi/pi-mono-before-compaction.v3.jsonl",
    "claude-code/6113e919-3auto.jsonl",
]
HURTS = [flip, cut, insert, glue, repeat, swap, tear, blank]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("which", [None, *REAL])
def test_a_hurt_file_loses_no_whole_record(
    which: str | None, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if which is None:
        whole = demo_lines()
    else:
        file = request.getfixturevalue("corpus") / which
        whole = [line for line in file.read_bytes().splitlines(keepends=True) if len(line) < 4000][:LINES]
    dice = random.Random(f"{which} {seed}")
    with open_store(tmp_path / "store", clock=lambda: 0) as log:
        for number in range(ROUNDS):
            lines = list(whole)
            for _ in range(dice.randint(1, 4)):
                dice.choice(HURTS)(lines, dice)
                lines = [line for line in lines if line]
            path = tmp_path / "session.jsonl"
            path.write_bytes(b"".join(lines))
            try:
                session = import_file(log, path, name=f"s{number}").id
            except BadInputError:
                # Only where its beginning is no session any more.
                assert lines[0] != whole[0]
                continue
            assert b"".join(export_original(log, session)) == path.read_bytes()
            assert import_file(log, path, name=f"s{number}").added == 0
            with log.snapshot() as snapshot:
                bodies = [bytes(body_of(frame)) for frame in snapshot.frames(session)]
                kept = set(bodies)
                untouched = [line.strip() for line in lines[1:] if line in whole[1:]]
                assert [line for line in untouched if line not in kept] == []
                check_bodies(build_context(snapshot, session))
                tree(snapshot, session)
        assert verify(log).findings == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("folder", ["claude-code", "codex", "opencode", "pi"])
def test_apis_take_contexts_of_hurt_files(folder: str, seed: int, corpus: Path, tmp_path: Path) -> None:
    dice = random.Random(f"{folder} {seed}")
    files = sorted(path for path in (corpus / folder).iterdir() if path.suffix in (".json", ".jsonl"))
    checked = 0
    while checked < CONTEXTS:
        file = dice.choice(files)
        lines = file.read_bytes()[: dice.randint(20_000, 400_000)].splitlines(keepends=True)
        for _ in range(dice.randint(1, 9)):
            dice.choice(HURTS)(lines, dice)
            lines = [line for line in lines if line]
        hurt, log = tmp_path / file.name, MemoryLog(clock=lambda: 0)
        hurt.write_bytes(b"".join(lines))
        try:
            sessions = [each.id for each in import_sessions(log, hurt)]
        except BadInputError:
            continue
        with log.snapshot() as snapshot:
            for session in sessions:
                entries = [entry.seq for entry in events(snapshot, session) if entry.is_entry]
                here = resolve_cursor(snapshot, session)
                for leaf in dice.sample(entries, min(len(entries), 8)):
                    check_bodies(context_at(snapshot, here.at_leaf(leaf)))
                    checked += 1
