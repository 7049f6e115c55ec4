"""Stop clients of a store anywhere, and cut their connections."""

from __future__ import annotations

import logging
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import quote

from bench.faults import Outcome, tried
from bench.faults.roles import server_here
from eventstore import open_store
from eventstore.errors import StoreError
from eventstore.verify import verify
from tests.cli.running import Refold
from tests.cli.test_damaged_sessions import reading
from tests.support.events import message
from tests.support.failing_servers import WRITERS, Writers, check

_WRITER: Final = """
import itertools, sys
from eventstore import open_store
from tests.support.events import message
with open_store(sys.argv[1]) as log:
    for number in itertools.count():
        log.append(sys.argv[2], [message(f"{sys.argv[2]}-{number}", "text " * 500)], blobs=[b"%d" % (number // 2)])
        print(number, flush=True)
"""
_LONGEST: Final = 60.0
"""Seconds for a command or an append beside a client that stands still."""


@contextmanager
def _writing(place: str, session: str) -> Iterator[subprocess.Popen[str]]:
    """Run a writer that prints the number of each append that is acknowledged."""
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, place, session], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline()
        yield run
        run.kill()


def _acknowledged(run: subprocess.Popen[str]) -> int:
    """Kill a writer; return how many appends it has printed."""
    run.kill()
    assert run.stdout is not None
    lines = run.stdout.read().split("\n")
    return int(lines[-2]) + 1 if len(lines) > 1 else 1


def stopped_writers(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Stop a writer anywhere: who reads goes on, and so does the writer afterwards."""
    refold = Refold(folder / "store")
    commands = [each for each in reading("s") if each[0] not in ("report", "export", "replay")]
    while True:
        shutil.rmtree(refold.store, ignore_errors=True)
        with open_store(refold.store) as log:
            log.append("s", [message("first", "text")])

        def stop() -> int:
            with _writing(str(refold.store), "w") as run:
                for _ in range(5):
                    time.sleep(dice.uniform(0, 0.01))
                    run.send_signal(signal.SIGSTOP)
                    os.waitid(os.P_PID, run.pid, os.WSTOPPED)
                    if _holds_the_readers(refold.store / "lock.mdb", run.pid):
                        run.send_signal(signal.SIGCONT)
                        continue
                    began = time.monotonic()
                    read = dice.choice(commands)
                    assert refold(*read, code=None).code in (0, 1), read
                    assert time.monotonic() - began < _LONGEST, "a reader had to wait"
                    run.send_signal(signal.SIGCONT)
                return _look(str(refold.store), "w", _acknowledged(run))

        yield tried("stopped", stop)


def _holds_the_readers(lock: Path, process: int) -> bool:
    """Return True if a process has LMDB's lock of the table of readers, which can only be waited for.

    On Linux it is the number in the mutex behind the file's 8 bytes of magic and format. docs/store.md tells of it.
    """
    with lock.open("rb") as file:
        (mutex,) = struct.unpack("8xI", file.read(12))
    return bool(mutex & 0x3FFFFFFF == process)


def _look(place: str, session: str, acknowledged: int) -> int:
    """Assert that what a killed writer had acknowledged is stored once, in order; return how many that was."""
    with open_store(place) as log:
        with log.snapshot() as snapshot:
            head = snapshot.head(session)
            assert head is not None
            assert head.version in (acknowledged, acknowledged + 1), (
                f"{acknowledged} acknowledged, {head.version} stored"
            )
            found = [snapshot.locate(session, f"{session}-{number}") for number in range(acknowledged)]
            assert found == [*range(1, acknowledged + 1)], "acknowledged appends are missing"
        assert verify(log).findings == []
    return acknowledged


def frozen_clients(dice: Random, folder: Path) -> Iterator[Outcome]:  # noqa: ARG001
    """Freeze a writer, or a transaction with a lock: others go on, or say for whom they wait."""
    logging.getLogger("refold").setLevel(logging.ERROR)
    with server_here() as server:
        while True:
            url = server.new_store()
            if dice.random() < 0.5:
                yield tried("writer", lambda url=url: _frozen_writer(dice, url))
            else:
                yield tried("transaction", lambda url=url: _frozen_transaction(dice, url))


def _frozen_writer(dice: Random, url: str) -> int:
    with open_store(url) as log, _writing(url, "other") as run:
        for number in range(10):
            time.sleep(dice.uniform(0, 0.02))
            run.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            log.append("own", [message(f"own-{number}")], blobs=[b"%d" % number])
            assert time.monotonic() - began < _LONGEST, "an append had to wait"
            run.send_signal(signal.SIGCONT)
        acknowledged = _acknowledged(run)
    return 10 + _look(url, "other", acknowledged) + 0 * _look(url, "own", 10)


def _frozen_transaction(dice: Random, url: str) -> int:
    import psycopg  # noqa: PLC0415  an extra

    with open_store(url) as log:
        log.append("s", [message("s-0")])
    held = dice.choice(
        [
            "UPDATE store SET position = position",
            "SELECT * FROM store FOR UPDATE",
            "UPDATE sessions SET leaf = leaf",
            "LOCK TABLE events IN SHARE MODE",
            "SELECT count(*) FROM events",
        ]
    )
    with psycopg.connect(url) as connection:
        connection.execute(held.encode())
        with open_store(f"{url}%20-clock_timeout%3D300ms") as log:
            with log.snapshot() as snapshot:
                assert [head.version for head in snapshot.heads()] == [1]
            began, blocked = time.monotonic(), False
            try:
                log.append("s", [message("s-1")])
            except StoreError as error:
                blocked = "waited in vain for" in str(error)
            assert time.monotonic() - began < _LONGEST, "an append had to wait"
            assert blocked or "SELECT count" in held, f"an append did not wait: {held}"
            connection.rollback()
            log.append("s", [message("s-1")])
    return _look(url, "s", 2)


class _Proxy:
    """Passes on what comes through a socket in a folder, and cuts connections anywhere."""

    def __init__(self, folder: Path, target: Path) -> None:
        self._target, self._pairs, self._is_over = (
            str(target / ".s.PGSQL.5432"),
            list[tuple[socket.socket, ...]](),
            False,
        )
        self._lock = threading.Lock()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / ".s.PGSQL.5432"))
        self._listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, dice: Random) -> None:
        """End some connections, the client's side or the server's first."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            if dice.random() < 0.2:
                with self._lock:
                    self._pairs.append(pair)
                continue
            for each in dice.sample(pair, 2):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                time.sleep(dice.choice([0, 0, 0.001]))

    def close(self) -> None:
        self._is_over = True
        self.cut(random.Random(0))
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._is_over:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                with self._lock:
                    self._pairs.append((client, server))
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
    for each in (one, other):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def cut_connections(dice: Random, folder: Path) -> Iterator[Outcome]:  # noqa: ARG001  a socket needs a short path
    """Cut connections of eight writers; nothing acknowledged is lost or doubled."""
    logging.getLogger("refold").setLevel(logging.ERROR)
    between = Path(tempfile.mkdtemp(prefix="refold-cut-", dir="/tmp"))
    with server_here() as server:
        proxy = _Proxy(between, server.folder)
        try:
            while True:
                url, acknowledged = server.new_store(), defaultdict[str, int](int)
                acknowledged.update({f"writer-{number}": 0 for number in range(WRITERS)})
                through = url.replace(quote(str(server.folder), safe=""), quote(str(between), safe=""))
                open_store(url).close()

                def cut(
                    url: str = url, through: str = through, acknowledged: dict[str, int] = acknowledged
                ) -> int:
                    with open_store(through) as log, Writers(log, acknowledged) as writers:
                        for _ in range(10):
                            writers.wait_for_progress()
                            proxy.cut(dice)
                        writers.wait_for_progress()
                    assert not writers.errors, writers.errors
                    with open_store(url) as log:
                        check(log, acknowledged)
                    return sum(acknowledged.values())

                first = tried("ten cuts", cut)
                yield first
        finally:
            proxy.close()
            shutil.rmtree(between, ignore_errors=True)
