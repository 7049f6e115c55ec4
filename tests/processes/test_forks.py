"""A store across a fork: refused in the child, unharmed in the parent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eventstore.lmdb.environment import Durability
from tests.support.processes import output_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no fork")

USE_IN_A_CHILD = """
import sys
from eventstore import open_store
from eventstore.errors import StoreError
from tests.support.crowd import at_once, tell
from tests.support.events import message
log = open_store(sys.argv[1], durability=sys.argv[2])
log.append("s", [message("a")])
uses = [
    lambda: log.append("s", [message("b")]),
    lambda: log.keep([(b"key", b"value")]),
    lambda: log.snapshot().__enter__(),
    lambda: log.size(),
    lambda: log.copy_to("nowhere"),
]
def use(_):
    for each in uses:
        try:
            each()
        except StoreError as error:
            tell("fork" in error.problem)
at_once(1, use)
tell(log.append("s", [message("c")]).version)
with log.snapshot() as snapshot:
    tell(snapshot.locate("s", "b"))
"""

OPEN_ANEW_IN_A_CHILD = """
import sys
from eventstore import open_store
from tests.support.crowd import at_once, tell
from tests.support.events import message, version
log = open_store(sys.argv[1])
log.append("s", [message("a")])
version(log, "s")
def reopen(_):
    log.close()
    with open_store(sys.argv[1]) as mine:
        tell(mine.append("s", [message("b")]).version)
at_once(1, reopen)
tell(version(log, "s"))
tell(log.append("s", [message("c")]).version)
"""

FORK_WHILE_READING = """
import gc, os, sys
from eventstore import open_store
from tests.support.crowd import at_once, tell
from tests.support.events import message
log = open_store(sys.argv[1])
log.append("s", [message("a")])
def close(_):
    log.close()
def leave(_):
    opened.__exit__(None, None, None)
def forget(_):
    global log, opened, snapshot
    del log, opened, snapshot
    gc.collect()
def end(_):
    sys.stdout.flush()
    os._exit(0)
for child in (close, leave, forget, end):
    opened = log.snapshot()
    snapshot = opened.__enter__()
    at_once(1, child)
    slots = [line.split() for line in log._shared.env.readers().splitlines()]
    tell([(int(slot[0]) == os.getpid(), slot[2] != "-") for slot in slots if slot and slot[0] != "pid"])
    opened.__exit__(None, None, None)
tell(log.append("s", [message("b")]).version)
"""

FORK_WHILE_WRITING = """
import os, sys, threading
from eventstore import open_store
from eventstore.errors import StoreError
from tests.support.crowd import at_once, tell
from tests.support.events import message
inside, go_on = threading.Event(), threading.Event()
def clock():
    inside.set()
    go_on.wait()
    return 0
log = open_store(sys.argv[1], durability=sys.argv[2], clock=clock)
writer = threading.Thread(target=lambda: tell(log.append("s", [message("a")]).version))
writer.start()
inside.wait()
def use(_):
    try:
        log.append("s", [message("b")])
    except StoreError as error:
        tell("fork" in error.problem)
    log.close()
at_once(1, use)
go_on.set()
writer.join()
tell(log.append("s", [message("c")]).version)
"""

EXIT_IN_A_BLOCK = """
import os, sys
from eventstore import open_store
from tests.support.crowd import tell
from tests.support.events import message, version
with open_store(sys.argv[1]) as log:
    log.append("s", [message("a")])
    with log.snapshot() as snapshot:
        if not os.fork():
            sys.exit()
        tell(os.waitstatus_to_exitcode(os.wait()[1]))
        tell(len(list(snapshot.frames("s"))))
        tell(str(os.getpid()) in log._shared.env.readers())
"""


CLOSE_WHILE_THREADS_USE_IT = """
import os, sys, threading, time
from eventstore import open_store
from tests.support.crowd import tell
from tests.support.events import message
log, is_over = open_store(sys.argv[1]), threading.Event()
def use(thread):
    number = 0
    while not is_over.is_set():
        log.append(f"s{thread}", [message(f"e{number}")])
        number += 1
threads = [threading.Thread(target=use, args=(thread,)) for thread in range(4)]
for thread in threads:
    thread.start()
for _ in range(100):
    child = os.fork()
    if not child:
        log.close()
        os._exit(0)
    until = time.monotonic() + 10
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            tell("hangs")
            os.kill(child, 9)
        time.sleep(0.001)
is_over.set()
for thread in threads:
    thread.join()
"""


class TestForks:
    def test_a_child_closes_what_parent_threads_use(self, tmp_path: Path) -> None:
        assert output_of(CLOSE_WHILE_THREADS_USE_IT, tmp_path / "store") == ""

    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_every_use_in_a_child_is_refused_and_the_parent_goes_on(
        self, tmp_path: Path, durability: Durability
    ) -> None:
        lines = output_of(USE_IN_A_CHILD, tmp_path / "store", durability).splitlines()
        assert lines == ["True"] * 5 + ["2", "0"]

    def test_a_child_that_closes_the_store_may_open_it_anew(self, tmp_path: Path) -> None:
        assert output_of(OPEN_ANEW_IN_A_CHILD, tmp_path / "store").split() == ["2", "2", "3"]

    def test_no_child_takes_the_place_of_a_reader_away_from_its_parent(self, tmp_path: Path) -> None:
        *places, last = output_of(FORK_WHILE_READING, tmp_path / "store").splitlines()
        assert places == ["[(True, True)]"] * 4
        assert last == "2"

    def test_a_child_that_leaves_the_parents_blocks_does_it_no_harm(self, tmp_path: Path) -> None:
        assert output_of(EXIT_IN_A_BLOCK, tmp_path / "store").split() == ["0", "1", "True"]

    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_a_fork_in_the_middle_of_an_append_neither_hangs_the_child_nor_hurts_the_append(
        self, tmp_path: Path, durability: Durability
    ) -> None:
        lines = output_of(FORK_WHILE_WRITING, tmp_path / "store", durability).splitlines()
        assert lines == ["True", "1", "2"]
