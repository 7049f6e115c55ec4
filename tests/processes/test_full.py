"""No room: a full disk, a full map, a process that may not have more memory. Earlier events are always intact."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from eventstore import open_store
from eventstore.backup import backup
from eventstore.errors import StoreError
from eventstore.lmdb.environment import Durability
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import verify
from tests.cli import tale
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.disks import disk
from tests.support.events import event, events, message, version
from tests.support.processes import output_of, running

KILOBYTE = 1 << 10
MEGABYTE = 1 << 20

PRELUDE = """
import json, os, sys, threading
from pathlib import Path
from eventstore import open_store
from eventstore.backup import backup
from eventstore.errors import StoreError
from eventstore.verify import verify
from tests.support.events import event, events, message, version

def problem_of(use):
    try:
        use()
    except StoreError as error:
        return str(error)

def fill(folder, *, but=0):
    with open(folder / "filling", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
        file.truncate(file.tell() - but)

def append_until_full(log):
    for number in range(10_000):
        names = [f"e{number}", f"e{number}+"]
        problem = problem_of(lambda: log.append("s", [event(name, data="x" * 9000) for name in names]))
        if problem:
            return number, problem

def fill_and_go_on(store, durability, make_room):
    with open_store(store, durability=durability) as log:
        number, problem = append_until_full(log)
        again = problem_of(lambda: log.append("s", [message("large", "x" * 50_000)]))
        held = [found.id for found in events(log, "s")]
    with open_store(store, create=False) as log:
        sound = not verify(log).findings
        make_room()
        after = log.append("s", [message("after")]).version
        sound = sound and not verify(log).findings
    print(json.dumps([number, problem, again, held, sound, after]))
"""

FILL_BY_APPENDING = f"""{PRELUDE}
folder, durability = Path(sys.argv[1]), sys.argv[2]
(folder / "ballast").write_bytes(bytes(200_000))
fill_and_go_on(folder / "store", durability, (folder / "ballast").unlink)
"""

FILL_TO_A_LIMIT = f"""{PRELUDE}
import resource
folder, durability = Path(sys.argv[1]), sys.argv[2]
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
limit(1_000_000)
fill_and_go_on(folder / "store", durability, lambda: limit(2_000_000))
"""

FILL_FROM_THREADS = f"""{PRELUDE}
folder = Path(sys.argv[1])
(folder / "ballast").write_bytes(bytes(200_000))
told, refused = [], []
with open_store(folder / "store", durability="batch") as log:
    def work(thread):
        for number in range(1000):
            name = f"{{thread}}.{{number}}"
            problem = problem_of(lambda: log.append("s", [event(name, data="x" * 9000)]))
            (refused if problem else told).append(name)
            if problem:
                break
    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (folder / "ballast").unlink()
    held = [found.id for found in events(log, "s")]
    sound = sorted(held) == sorted(told) and not verify(log).findings
    after = log.append("s", [message("after")]).version
print(json.dumps([len(refused), sound, after - len(told)]))
"""

BEGIN_UNDER_A_LIMIT = f"""{PRELUDE}
import resource
folder = Path(sys.argv[1])
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
def begin():
    with open_store(store) as log:
        log.append("s", [message("a")])
refused = set()
for has_lock in (False, True):
    for size in range(8192 * has_lock, 80_000, 4096):
        store = folder / f"{{size}}-{{has_lock}}"
        if has_lock:
            open_store(store).close()
            (store / "data.mdb").unlink()
        limit(size)
        problem = problem_of(begin)
        if problem:
            refused.add(problem.removeprefix(f"{{store}}: "))
        limit(resource.RLIM_INFINITY)
        begin()
        with open_store(store) as log:
            assert version(log, "s") == 1
            assert not verify(log).findings
print(json.dumps(sorted(refused)))
"""

BEGIN_WHEN_FULL = f"""{PRELUDE}
folder, room = Path(sys.argv[1]), int(sys.argv[2])
fill(folder, but=room)
def begin():
    with open_store(folder / "store") as log:
        log.append("s", [message("a")])
problem = problem_of(begin)
(folder / "filling").unlink()
with open_store(folder / "store") as log:
    print(json.dumps([problem, log.append("s", [message("a")]).version, len(verify(log).findings)]))
"""

OPEN_WITHOUT_A_LOCK_FILE_WHEN_FULL = f"""{PRELUDE}
folder = Path(sys.argv[1])
with open_store(folder / "store") as log:
    log.append("s", [message("a")])
(folder / "store" / "lock.mdb").unlink()
fill(folder)
problem = problem_of(lambda: open_store(folder / "store"))
(folder / "filling").unlink()
with open_store(folder / "store") as log:
    print(json.dumps([problem, version(log, "s")]))
"""

BACK_UP_ONTO_A_FULL_DISK = f"""{PRELUDE}
folder, room = Path(sys.argv[1]), int(sys.argv[3])
with open_store(sys.argv[2]) as log:
    log.append("s", [event(f"e{{number}}", data="x" * 3000) for number in range(100)])
    fill(folder, but=room)
    print(problem_of(lambda: backup(log, folder / "copy")))
    print(sorted(entry.name for entry in folder.iterdir()))
    (folder / "filling").unlink()
    print(backup(log, folder / "copy").verification.events)
"""

GROW_WITH_FEW_ADDRESSES = f"""{PRELUDE}
import resource
from eventstore.lmdb.store import LmdbLog
def limit_to(more):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, resource.RLIM_INFINITY))
def open():
    return LmdbLog(sys.argv[1], map_size=24 << 20)
def fill():
    for number in range(100):
        log.append("s", [event(f"e{{number}}", data="x" * (1 << 20))])
limit_to(64 << 20)
print(problem_of(lambda: open_store(sys.argv[1])))
log = open()
limit_to(16 << 20)
print(problem_of(fill))
print(problem_of(lambda: log.append("s", [message("b")])))
with open() as log:
    print(version(log, "s") > 10, verify(log).findings)
"""

APPEND_WHEN_TOLD = """
import sys
from eventstore.lmdb.store import LmdbLog
from tests.support.events import event
with LmdbLog(sys.argv[1], map_size=1 << 18) as log:
    for line in sys.stdin:
        name, size = line.split()
        print(log.append("s", [event(name, data="x" * int(size))]).version, flush=True)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    (tmp_path / "disk").mkdir()
    with disk(tmp_path / "disk", size="1m") as folder:
        yield folder


class Filled(NamedTuple):
    """The results of appends until there is no room, and after there is room again."""

    appends: int
    problem: str
    again: str
    held: list[str]
    is_sound: bool
    version_after: int

    def check(self) -> None:
        assert self.appends > 10
        for text in (self.problem, self.again):
            assert re.match(r"/\S+: ", text)
            assert "\n" not in text
        assert self.held == [f"e{number}{part}" for number in range(self.appends) for part in ("", "+")]
        assert self.is_sound
        assert self.version_after == len(self.held) + 1


KEEP_WHEN_FULL = f"""{PRELUDE}
folder = Path(sys.argv[1])
with open_store(folder / "store") as log:
    log.append("s", [message("a")])
fill(folder)
with open_store(folder / "store", read_only=True) as log:
    log.keep([(b"key", bytes(1 << 20))])
    with log.snapshot() as snapshot:
        print(json.dumps([version(log, "s"), snapshot.derived(b"key")]))
"""


class TestFullDisk:
    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_an_append_fails_whole_and_the_store_goes_on_where_there_is_room_again(
        self, small_disk: Path, durability: Durability
    ) -> None:
        Filled(*json.loads(output_of(FILL_BY_APPENDING, small_disk, durability))).check()

    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_an_append_past_the_limit_of_a_files_size_fails_whole(
        self, tmp_path: Path, durability: Durability
    ) -> None:
        Filled(*json.loads(output_of(FILL_TO_A_LIMIT, tmp_path, durability))).check()

    def test_of_threads_that_append_to_a_full_disk_each_learns_what_became_of_its_own(
        self, small_disk: Path
    ) -> None:
        assert json.loads(output_of(FILL_FROM_THREADS, small_disk)) == [4, True, 1]

    def test_a_full_disk_refuses_no_reader(self, small_disk: Path) -> None:
        assert json.loads(output_of(KEEP_WHEN_FULL, small_disk)) == [1, None]

    @pytest.mark.parametrize("room", [0, 4096, 40_960])
    @pytest.mark.parametrize("what", [SESSION, "--all"])
    def test_an_audit_on_a_full_disk(self, small_disk: Path, tmp_path: Path, what: str, room: int) -> None:
        refold, elsewhere = Refold(small_disk / "store"), Refold(tmp_path / "store")
        for each in (refold, elsewhere):
            each.program("sync", tale.write(tmp_path / "tale.jsonl"))
        output_of(f"{PRELUDE}\nfill(Path(sys.argv[1]), but={room})", small_disk)
        told = refold.program("audit", what, "--json")
        assert (told.raw, told.errors) == (elsewhere.program("audit", what, "--json").raw, "")
        assert refold.program("verify").errors == ""

    def test_a_file_audited_on_a_full_disk(self, small_disk: Path, tmp_path: Path) -> None:
        refold, file = Refold(small_disk / "store"), tale.write(tmp_path / "tale.jsonl")
        with open_store(refold.store) as log:
            log.append("s", [message("a")])
        output_of(f"{PRELUDE}\nfill(Path(sys.argv[1]))", small_disk)
        (line,) = refold.program("audit", file, code=1).errors.splitlines()
        assert line.startswith(f"refold: {refold.store}: ")
        assert refold.program("verify").errors == ""

    @pytest.mark.parametrize("room", [0, 4096, 16_384, 40_960, 65_536])
    def test_a_new_store_on_a_full_disk_is_refused_or_made_and_never_ends_in_a_signal(
        self, small_disk: Path, room: int
    ) -> None:
        problem, made, findings = json.loads(output_of(BEGIN_WHEN_FULL, small_disk, str(room)))
        assert room >= 65_536 or problem.startswith(f"{small_disk / 'store'}: ")
        assert room >= 65_536 or "(No space left on device)" in problem
        assert (made, findings) == (1, 0)

    def test_a_new_store_that_finds_no_room_halfway_is_made_when_there_is_some(self, tmp_path: Path) -> None:
        problems = json.loads(output_of(BEGIN_UNDER_A_LIMIT, tmp_path))
        reasons = r"\((mdb_txn_commit: )?(File too large|Input/output error|No space left on device)\)"
        assert [each for each in problems if not re.search(reasons, each)] == []
        # Some cannot be opened, and some are opened and cannot be written.
        assert len({re.sub(reasons, "", each) for each in problems}) == 2

    def test_a_store_without_its_lock_file_on_a_full_disk_is_refused_without_a_signal(
        self, small_disk: Path
    ) -> None:
        problem, found = json.loads(output_of(OPEN_WITHOUT_A_LOCK_FILE_WHEN_FULL, small_disk))
        assert "(No space left on device)" in problem
        assert found == 1

    @pytest.mark.parametrize("room", [0, 200_000])
    def test_a_backup_onto_a_full_disk_leaves_nothing_there(
        self, small_disk: Path, tmp_path: Path, room: int
    ) -> None:
        problem, left, made = output_of(
            BACK_UP_ONTO_A_FULL_DISK, small_disk, tmp_path / "store", str(room)
        ).splitlines()
        assert problem.startswith(f"{small_disk / 'copy'}: ")
        assert left == "['filling']"
        assert made == "100"


class TestFullMap:
    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_a_map_grows_while_threads_append_and_read(self, tmp_path: Path, durability: Durability) -> None:
        with LmdbLog(tmp_path / "store", map_size=128 * KILOBYTE, durability=durability) as log:
            told: list[str] = []
            errors: list[str] = []

            def work(thread: int) -> None:
                for number in range(25):
                    name = f"{thread}.{number}"
                    while True:
                        try:
                            log.append("s", [event(name, data="x" * 20_000)])
                            break
                        except StoreError as error:
                            # A snapshot of another thread keeps the map from growing.
                            errors.append(error.remedy)
                            if "snapshots" not in error.remedy:
                                return
                    told.append(name)
                    assert version(log, "s") >= number

            threads = [threading.Thread(target=work, args=(thread,)) for thread in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [remedy for remedy in errors if "snapshots" not in remedy] == []
            assert sorted(found.id for found in events(log, "s")) == sorted(told)
            assert len(told) == 150
            assert verify(log).findings == []

    def test_two_processes_grow_one_map_in_turns(self, tmp_path: Path) -> None:
        with (
            LmdbLog(tmp_path / "store", map_size=256 * KILOBYTE) as log,
            running(APPEND_WHEN_TOLD, tmp_path / "store") as other,
        ):
            for turn in range(6):
                size = 150_000 << (turn // 2)
                assert other.ask(f"o{turn} {size}") == f"{2 * turn + 1}"
                assert log.append("s", [event(f"e{turn}", data="x" * size)]).version == 2 * turn + 2
            assert other.finish() == []
            assert verify(log).findings == []

    @pytest.mark.parametrize("use", ["snapshot", "size", "backup", "append", "keep"])
    def test_whatever_comes_first_after_another_process_has_grown_the_map_works(
        self, tmp_path: Path, use: str
    ) -> None:
        with LmdbLog(tmp_path / "store", map_size=256 * KILOBYTE) as log:
            log.append("s", [message("a")])
            with running(APPEND_WHEN_TOLD, tmp_path / "store") as other:
                assert other.ask(f"b {MEGABYTE}") == "2"
                assert other.finish() == []
            if use == "size":
                assert log.size().file_bytes > MEGABYTE
            elif use == "backup":
                assert backup(log, tmp_path / "copy").verification.events == 2
            elif use == "append":
                assert log.append("s", [message("c")]).version == 3
            elif use == "keep":
                log.keep([(b"key", b"value")])
            assert [found.id for found in events(log, "s")][:2] == ["a", "b"]

    def test_a_snapshot_from_before_another_process_has_grown_the_map_stays_as_it_was(
        self, tmp_path: Path
    ) -> None:
        with LmdbLog(tmp_path / "store", map_size=256 * KILOBYTE) as log:
            log.append("s", [message("a")])
            with running(APPEND_WHEN_TOLD, tmp_path / "store") as other, log.snapshot() as snapshot:
                assert other.ask(f"b {MEGABYTE}") == "2"
                for use in (lambda: log.append("s", [message("c")]), lambda: version(log, "s")):
                    with pytest.raises(StoreError) as refused:
                        use()
                    assert "snapshots" in refused.value.remedy
                assert [head.version for head in snapshot.heads()] == [1]
                assert len(list(snapshot.frames("s"))) == 1
            assert log.append("s", [message("c")]).version == 3

    @pytest.mark.skipif(sys.platform != "linux", reason="this system knows no limit of a process's memory")
    def test_a_process_that_may_not_have_a_larger_map_says_so_and_loses_nothing(self, tmp_path: Path) -> None:
        opening, growing, closed, last = output_of(GROW_WITH_FEW_ADDRESSES, tmp_path / "store").splitlines()
        assert "(Cannot allocate memory)" in opening
        assert len({opening, growing, closed, "None"}) == 4
        assert last == "True []"
