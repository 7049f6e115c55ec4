"""Compare importing many files by several processes to one, and finding nothing new to a stat of each file."""

from __future__ import annotations

import itertools
import os

import pytest

from eventstore import open_store
from eventstore.files.discovery import session_files
from eventstore.files.syncing import compare_sources, import_files
from eventstore.workers import cores
from tests.support.homes import large_home

FILES = 80
MEGABYTES = 80
UNCHANGED = 2_000
ROUNDS = 3


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return large_home(tmp_path_factory.mktemp("large") / "home", FILES, megabytes=MEGABYTES)


@pytest.fixture(scope="module")
def synced(tmp_path_factory):
    """Return a home of small files, and an open store that has imported them."""
    folder = tmp_path_factory.mktemp("small")
    home = large_home(folder / "home", UNCHANGED, megabytes=4)
    with open_store(folder / "store") as log:
        assert all(each.error is None for each in import_files(log, session_files({}, [str(home)])))
        yield home, log


def sync(path, home, jobs):
    with open_store(path) as log:
        return sum(1 for _ in import_files(log, session_files({}, [str(home)]), jobs=jobs))


def sync_again(home, log):
    with log.snapshot() as snapshot:
        compared = compare_sources(snapshot, session_files({}, [str(home)]))
    return sum(each.change == "unchanged" for each in compared)


@pytest.mark.parametrize(("role", "jobs"), [("refold", cores()), ("one process", 1)])
def test_many_files_are_imported(measure, home, tmp_path, role, jobs):
    fresh = (tmp_path / str(number) for number in itertools.count())
    setup = lambda: ((next(fresh), home, jobs), {})  # noqa: E731
    assert measure("sync", role, sync, rounds=ROUNDS, setup=setup, jobs=jobs) == FILES


def test_nothing_is_new(measure, synced):
    assert measure("resync", "refold", sync_again, *synced, rounds=ROUNDS * 3) == UNCHANGED


def test_each_file_has_a_status(measure, synced):
    paths = [each.path for each in session_files({}, [str(synced[0])])]
    measure("resync", "stat", lambda: [os.stat(path) for path in paths], rounds=ROUNDS * 3)  # noqa: PTH116
