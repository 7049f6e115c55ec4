"""Compare importing one more record of a followed file to a bare commit of two rows."""

from __future__ import annotations

import itertools
from contextlib import ExitStack

import lmdb
import pytest

from eventstore import open_store
from eventstore.files.importing import import_sessions
from eventstore.harnesses.source import FollowedFiles

FILES = {
    "claude-code": "6113e919-3auto.jsonl",
    "codex": "rollout-019d7d08-parent.jsonl",
    "pi": "pi-mono-before-compaction.v3.jsonl",
}
ROUNDS = 30
ROW = b"x" * 1500


@pytest.fixture(params=FILES)
def harness(request) -> str:
    return request.param


def test_refold_imports_one_more_record(measure, harness, corpus, tmp_path):
    lines = (corpus / harness / FILES[harness]).read_bytes().splitlines(keepends=True)
    file, followed, rest = tmp_path / FILES[harness], FollowedFiles(), iter(lines[-ROUNDS:])
    file.write_bytes(b"".join(lines[:-ROUNDS]))

    def grow():
        with file.open("ab") as grown:
            grown.write(next(rest))
        return (), {}

    with open_store(tmp_path / "store") as log:
        bring = lambda: import_sessions(log, file, followed=followed)  # noqa: E731
        bring()
        size = file.stat().st_size
        [done] = measure(f"{harness}-growth", "refold", bring, rounds=ROUNDS, setup=grow, bytes_known=size)
        assert done.added == 1


def test_two_rows_are_committed(measure, harness, tmp_path):
    numbers = itertools.count()
    with ExitStack() as stack:
        environment = stack.enter_context(
            lmdb.open(str(tmp_path), max_dbs=2, map_size=1 << 30, lib_version=0)
        )
        tables = [environment.open_db(name) for name in (b"events", b"ids")]

        def commit():
            key = next(numbers).to_bytes(8, "big")
            with environment.begin(write=True) as transaction:
                for table in tables:
                    transaction.put(key, ROW, db=table)

        measure(f"{harness}-growth", "two rows", commit, rounds=ROUNDS)
