"""Compare importing one more record of a followed file to a bare commit of two rows.

`python -m bench.test_growing_files` has both take turns, so that both wait for the same disk.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import lmdb
import pytest

from bench.conftest import CORPUS
from bench.import_parts import Rows
from eventstore import open_store
from eventstore.files.importing import import_sessions
from eventstore.harnesses.source import FollowedFiles

FILES = {
    "claude-code": "6113e919-3auto.jsonl",
    "codex": "rollout-019d7d08-parent.jsonl",
    "pi": "pi-mono-before-compaction.v3.jsonl",
}
ROUNDS = 30
TURNS = 200
ROW = b"x" * 1500


def growing(source: Path, file: Path, rounds: int) -> Callable[[], None]:
    """Write a file without its last records, and return what adds the next of them."""
    lines = source.read_bytes().splitlines(keepends=True)
    rest = iter(lines[-rounds:])
    file.write_bytes(b"".join(lines[:-rounds]))

    def grow() -> None:
        with file.open("ab") as grown:
            grown.write(next(rest))

    return grow


@contextmanager
def following(source: Path, folder: Path, rounds: int) -> Iterator[tuple[Callable[[], None], Callable]]:
    """Return what adds a record to a copy of a file, and what imports it into a store."""
    file, followed = folder / source.name, FollowedFiles()
    grow = growing(source, file, rounds)
    with open_store(folder / "store") as log:
        bring = lambda: import_sessions(log, file, followed=followed)  # noqa: E731
        bring()
        yield grow, bring


@contextmanager
def committing(folder: Path) -> Iterator[Callable[[], None]]:
    """Return what commits a row in each of two tables."""
    numbers = itertools.count()
    with lmdb.open(str(folder / "rows"), max_dbs=2, map_size=1 << 30, lib_version=0) as environment:
        tables = [environment.open_db(name) for name in (b"events", b"ids")]

        def commit() -> None:
            key = next(numbers).to_bytes(8, "big")
            with environment.begin(write=True) as transaction:
                for table in tables:
                    transaction.put(key, ROW, db=table)

        yield commit


@contextmanager
def least(source: Path, folder: Path, rounds: int) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """Return the same as `following` of the least that any importer does, and the record of its import."""
    file = folder / "least"
    grow = growing(source, file, rounds)
    made, digest, size = Rows(), sha256(file.read_bytes()), file.stat().st_size
    with lmdb.open(str(folder / "kept"), max_dbs=5, map_size=1 << 30, lib_version=0) as environment:
        *tables, heads = (environment.open_db(b"%d" % number) for number in range(5))

        def bring() -> None:
            nonlocal size
            with file.open("rb") as grown:
                grown.seek(size)
                new = grown.read(os.fstat(grown.fileno()).st_size - size)
            size += len(new)
            digest.update(new)
            with environment.begin() as transaction:
                transaction.get(b"head", db=heads)
            record = b'{"id":"import-%d","digest":"%b"}' % (size, digest.hexdigest().encode())
            lines = *new.splitlines(), record
            with environment.begin(write=True) as transaction:
                for table, (key, value) in itertools.chain(
                    *(zip(tables, made.add(each), strict=True) for each in lines)
                ):
                    transaction.put(key, value, db=table)
                for name in b"head", b"state of the file":
                    transaction.put(name, digest.digest(), db=heads)

        yield grow, bring


@pytest.fixture(params=FILES)
def harness(request) -> str:
    return request.param


def test_refold_imports_one_more_record(measure, harness, corpus, tmp_path):
    with following(corpus / harness / FILES[harness], tmp_path, ROUNDS) as (grow, bring):
        grown = lambda: (grow() or (), {})  # noqa: E731
        [done] = measure(f"{harness}-growth", "refold", bring, rounds=ROUNDS, setup=grown)
        assert done.added == 1


def test_two_rows_are_committed(measure, harness, tmp_path):
    with committing(tmp_path) as commit:
        measure(f"{harness}-growth", "two rows", commit, rounds=ROUNDS)


def main() -> None:
    print("| harness | least ÷ two rows: time | processor time | refold: time | processor time |")  # noqa: T201
    for harness, name in FILES.items():
        with ExitStack() as stack:
            folder, enter = Path(stack.enter_context(TemporaryDirectory())), stack.enter_context
            source = CORPUS / harness / name
            sides = (
                (None, enter(committing(folder))),
                *(enter(side(source, folder, TURNS)) for side in (least, following)),
            )
            took: tuple[list[tuple[float, float]], ...] = [], [], []
            for _, ((grow, bring), times) in itertools.product(range(TURNS), zip(sides, took, strict=True)):
                if grow is not None:
                    grow()
                began = time.perf_counter(), time.process_time()
                bring()
                times.append((time.perf_counter() - began[0], time.process_time() - began[1]))
            rows, *others = (list(map(median, zip(*times, strict=True))) for times in took)
            ratios = [one / row for other in others for one, row in zip(other, rows, strict=True)]
            print(f"| {harness} |", " | ".join(f"{ratio:.1f} ×" for ratio in ratios), "|")  # noqa: RUF001, T201


if __name__ == "__main__":
    main()
