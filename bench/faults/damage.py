"""Damage a store's file while nobody has it open: flipped bits by region, and ends cut off."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.faults import Outcome, apart
from eventstore import open_store
from eventstore.backup import backup
from eventstore.errors import CorruptionError, RefoldError, StoreError
from eventstore.lmdb.opening import page_problems
from eventstore.log import EventLog
from eventstore.verify import verify
from projections.context.build import build_context, context_json
from projections.search.full_text import INDEX_FILE
from tests.cli.running import Refold
from tests.support.events import compaction, event, message

TRIES = 80
_PAGE = 4096
_KINDS = {1: "branch", 2: "leaf", 4: "overflow", 8: "meta"}


def _write(folder: Path) -> tuple[bytes, dict[str, bytes], list[bytes]]:
    """Return a store's file, the context of each session, and all frames."""
    with open_store(folder / "written") as log:
        for name in ("r", "s", "t"):
            said = [message(f"e{number}", f"text {number} " * (number * 37 % 300)) for number in range(40)]
            log.append(name, [*said, event("large", data="x" * 9000)])
            log.append(name, [compaction("c", "e30"), message("after")])
        contexts, frames = _contexts(log), _frames(log)
        backup(log, folder / "whole")
    return (folder / "whole" / "data.mdb").read_bytes(), contexts, frames


def _contexts(log: EventLog) -> dict[str, bytes]:
    found = {}
    for name in ("r", "s", "t"):
        with log.snapshot() as snapshot:
            # Reading what is damaged may fail; what comes out must be what went in.
            build_context(snapshot, name)
            found[name] = context_json(snapshot, name)
    return found


def _frames(log: EventLog) -> list[bytes]:
    with log.snapshot() as snapshot:
        return [bytes(item.frame) for item in snapshot.feed()]


def flips(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Flip one to three bits, and compare what verification finds and what checked reads serve."""
    whole, contexts, frames = _write(folder)
    for _ in range(TRIES):
        data, at = bytearray(whole), dice.randrange(len(whole))
        for _ in range(dice.choice([1, 1, 1, 2, 3])):
            data[at] ^= 1 << dice.randrange(8)
            at = min(len(whole) - 1, at + dice.randrange(64))
        flags = struct.unpack_from("<H", whole, at // _PAGE * _PAGE + 10)[0]
        damaged = _damaged(folder, bytes(data))
        yield Outcome(
            of=_KINDS.get(flags & 15, "inside a value"),
            problem=apart(lambda damaged=damaged: _look(damaged, contexts, frames)),
        )


def index_flips(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Flip bits in the index of search: no event is found that lacks the words, and all are after `verify`."""
    store = Refold(folder / "store")
    with open_store(store.store) as log:
        for name in ("s", "t"):
            log.append(name, [message(f"e{number}", _words(dice)) for number in range(60)])
    asked = [("search", word, "--json") for word in _WORDS]
    found = [store(*each).raw for each in asked]
    whole = (store.store / INDEX_FILE).read_bytes()
    for _ in range(TRIES):
        data = bytearray(whole)
        for _ in range(dice.choice([1, 1, 2, 9])):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        (store.store / INDEX_FILE).write_bytes(data)
        at = dice.randrange(len(asked))
        # A verification takes many times as long as a search.
        then = dice.random() < 0.1
        problem = apart(lambda at=at, then=then: _searched(store, asked[at], found[at], verifies=then))
        yield Outcome(of="flip", problem=problem)


_WORDS = [f"word{number}" for number in range(12)]


def _words(dice: Random) -> str:
    return " ".join(dice.sample(_WORDS, 3)) + " filler" * dice.randrange(99)


def _searched(store: Refold, asked: tuple[str, ...], found: bytes, *, verifies: bool) -> str:
    """Return what is wrong with the answers of a damaged index, "" for nothing."""
    ended = store(*asked, code=None)
    if ended.code == 70:
        return ended.errors
    if ended.code == 0 and not all(each in json.loads(found)["hits"] for each in ended.json["hits"]):
        return "a hit is wrong"
    if not verifies:
        return ""
    store("verify")
    return "" if store(*asked).raw == found else "verify has left a damaged index"


def cuts(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Cut the file off anywhere: it is refused, or nothing is missing."""
    whole, contexts, frames = _write(folder)
    for _ in range(TRIES):
        damaged = _damaged(folder, whole[: dice.randrange(len(whole))])
        problem = apart(lambda damaged=damaged: _look(damaged, contexts, frames))
        yield Outcome(of="end of the file", problem=problem)


def _damaged(folder: Path, data: bytes) -> Path:
    damaged = folder / "damaged"
    shutil.rmtree(damaged, ignore_errors=True)
    damaged.mkdir()
    (damaged / "data.mdb").write_bytes(data)
    return damaged


def _look(damaged: Path, contexts: dict[str, bytes], frames: list[bytes]) -> str:
    """Return what is wrong with the answers of a damaged store, "" if every one is right or an error."""
    # As every command that may meet damage: the pages are walked first.
    if page_problems(str(damaged / "data.mdb")):
        return ""
    try:
        with open_store(damaged) as log:
            for name, context in contexts.items():
                try:
                    with log.snapshot() as snapshot:
                        build_context(snapshot, name)
                        served = context_json(snapshot, name)
                except (CorruptionError, StoreError, RefoldError):
                    continue
                if served != context:
                    return f"a checked read served another context of {name}"
            if not verify(log).findings and _frames(log) != frames:
                return "verify finds nothing, and events differ"
    except StoreError:
        return ""
    return ""
