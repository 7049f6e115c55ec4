"""Cut the power: every state that a disk may be in, made from the recorded writes and flushes of a writer."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from bench.faults import NotHereError, Outcome, apart
from eventstore import open_store
from eventstore.verify import verify
from tests.support.events import event, events

STATES = 120
"""States that are tried of one recording."""
_SECTOR = 512
_WRITE = """
import os, sys
from random import Random
from eventstore import open_store
from tests.support.events import event
dice = Random(sys.argv[2])
with open_store(sys.argv[1]) as log:
    for number in range(int(sys.argv[3])):
        size = dice.choice([10, 300, 2500, 9000, 40000])
        log.append(dice.choice("st"), [event(f"w{number}", data="x" * size)])
        os.write(1, f"w{number};".encode())
"""
_CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class _Step(NamedTuple):
    """A write of bytes at an offset, durable at once or not, a flush, or the acknowledgement of an append."""

    kind: str
    at: int = 0
    data: bytes = b""


def power_losses(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Record a writer, and open what a loss of power at random moments may leave."""
    if shutil.which("strace") is None:
        raise NotHereError("strace is not installed")
    store, trace = folder / "store", folder / "trace"
    with open_store(store) as log:
        log.append("s", [event("first")])
    base = (store / "data.mdb").read_bytes()
    calls = "openat,close,pwrite64,pwritev,pwritev2,write,writev,lseek,fdatasync,fsync,ftruncate,msync"
    writer = [sys.executable, "-c", _WRITE, store, str(dice.random()), "40"]
    strace = ["strace", "-f", "-xx", "-s", "4000000", "-e", f"trace={calls}", "-o", trace]
    subprocess.run([*strace, *writer], check=True, stdout=subprocess.DEVNULL)
    steps = list(_steps(trace))
    assert sum(step.kind == "told" for step in steps) == 40, "the recording lacks acknowledgements"
    for _ in range(STATES):
        end = dice.randint(1, len(steps))
        state, told = _state(dice, base, steps[:end])
        lost = folder / "lost"
        shutil.rmtree(lost, ignore_errors=True)
        lost.mkdir()
        (lost / "data.mdb").write_bytes(state)
        problem = apart(lambda lost=lost, told=told: _look(lost, told))
        yield Outcome(of="recorded writes", acknowledged=told, problem=problem)


def _look(store: Path, told: int) -> str:
    with open_store(store) as log:
        with log.snapshot() as snapshot:
            names = {head.name for head in snapshot.heads()}
        found = {each.id for name in names for each in events(log, name)}
        if missing := {f"w{number}" for number in range(told)} - found:
            return f"{len(missing)} of {told} acknowledged appends are lost"
        if len(found) > told + 2:
            return "more was appended than was begun"
        if findings := verify(log).findings:
            return findings[0].problem
        log.append("s", [event("after")])
    return ""


def _state(dice: Random, base: bytes, steps: list[_Step]) -> tuple[bytes, int]:
    """Return a data file after a loss of power, and the number of acknowledged appends.

    What was written since the last flush may be on the disk in any part, in whole sectors.
    """
    data, pending, told = bytearray(base), list[_Step](), 0
    for step in steps:
        if step.kind == "flush":
            for each in pending:
                _put(data, each.at, each.data)
            pending = []
        elif step.kind == "told":
            told += 1
        elif step.kind == "durable":
            _put(data, step.at, step.data)
        else:
            pending.append(step)
    chance = dice.choice([0, 0.2, 0.5, 0.9, 1])
    for each in pending:
        if dice.random() < chance:
            whole = dice.random() < 0.7
            stop = len(each.data) if whole else dice.randrange(0, len(each.data) + 1, _SECTOR)
            _put(data, each.at, each.data[:stop])
    return bytes(data), told


def _put(data: bytearray, at: int, written: bytes) -> None:
    if len(data) < at + len(written):
        data.extend(bytes(at + len(written) - len(data)))
    data[at : at + len(written)] = written


def _steps(trace: Path) -> Iterator[_Step]:
    """Yield what a recording says of the data file."""
    kinds, places = dict[int, str](), dict[int, int]()
    for line in trace.read_text().splitlines():
        call = _CALL.match(line)
        if call is None or int(call[3]) < 0:
            continue
        name, arguments, result = call[1], call[2], int(call[3])
        if name == "openat":
            if _text(arguments).endswith(b"data.mdb"):
                kinds[result] = "durable" if "SYNC" in arguments else "written"
            continue
        handle = int(arguments.split(",")[0])
        if handle == 1 and name == "write":
            yield _Step("told")
        elif name == "close":
            kinds.pop(handle, None)
        elif handle in kinds:
            yield from _step(kinds[handle], name, arguments, result, places)


def _step(kind: str, name: str, arguments: str, result: int, places: dict[int, int]) -> Iterator[_Step]:
    """Yield what one call does to the data file; `places` are where its handles stand."""
    handle = int(arguments.split(",", maxsplit=1)[0])
    if name in {"fdatasync", "fsync"}:
        yield _Step("flush")
    elif name == "lseek":
        places[handle] = result
    elif name != "ftruncate":
        written = b"".join(bytes.fromhex(each.replace("\\x", "")) for each in _TEXT.findall(arguments))
        assert len(written) == result, f"{name} of {result} bytes is recorded with {len(written)}"
        at = int(arguments.rsplit(",", 1)[1]) if name.startswith("pwrite") else places[handle]
        if not name.startswith("pwrite"):
            places[handle] = at + result
        yield _Step(kind, at, written)


def _text(arguments: str) -> bytes:
    found = _TEXT.search(arguments)
    return bytes.fromhex(found[1].replace("\\x", "")) if found else b""
