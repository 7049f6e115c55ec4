"""Real files, hurt at random: whatever a crash or an editor leaves, no record that is whole is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cli.demo.player import play
from eventstore import export_original, export_session, import_file, open_store
from eventstore.errors import BadInputError
from eventstore.frame import body_of
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from projections import build_context, tree
from projections.requests.anthropic import render
from tests.support.validator import validate

ROUNDS = 60
LINES = 40


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
                rendered = render(build_context(snapshot, session), model="claude", cache_breakpoints=4)
                broken = [each.rule for each in validate(rendered.body)]
                assert broken == [each.rule for each in rendered.violations]
                assert broken in ([], ["messages"])
                tree(snapshot, session)
        assert verify(log).findings == []
