"""No room: a full disk, a full map, a process that may not have more memory. Earlier events are always intact."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.backup import backup
from eventstore.errors import StoreError
from eventstore.lmdb_log import Durability, LmdbLog
from eventstore.verify import verify
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
"""

FILL_BY_APPENDING = f"""{PRELUDE}
folder, durability = Path(sys.argv[1]), sys.argv[2]
(folder / "ballast").write_bytes(bytes(200_000))
with open_store(folder / "store", durability=durability) as log:
    number, problem = append_until_full(log)
    again = problem_of(lambda: log.append("s", [message("large", "x" * 50_000)]))
    held = [found.id for found in events(log, "s")]
with open_store(folder / "store", create=False) as log:
    sound = not verify(log).findings
    (folder / "ballast").unlink()
    after = log.append("s", [message("after")]).version
    sound = sound and not verify(log).findings
print(json.dumps([number, problem, again, held, sound, after]))
"""

FILL_TO_A_LIMIT = f"""{PRELUDE}
import resource
folder, durability = Path(sys.argv[1]), sys.argv[2]
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
limit(1_000_000)
with open_store(folder / "store", durability=durability) as log:
    number, problem = append_until_full(log)
    again = problem_of(lambda: log.append("s", [message("large", "x" * 50_000)]))
    held = [found.id for found in events(log, "s")]
with open_store(folder / "store", create=False) as log:
    sound = not verify(log).findings
    limit(2_000_000)
    after = log.append("s", [message("after")]).version
    sound = sound and not verify(log).findings
print(json.dumps([number, problem, again, held, sound, after]))
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
from eventstore.lmdb_log import LmdbLog
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
print(problem_of(lambda: open_store(sys.argv[1])))
log = LmdbLog(sys.argv[1], map_size=1 << 20)
log.append("s", [message("a")])
resource.setrlimit(resource.RLIMIT_AS, (1 << 25, resource.RLIM_INFINITY))
print(problem_of(lambda: log.append("s", [event("b", data="x" * (5 << 20))])))
print(problem_of(lambda: log.append("s", [message("b")])))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
with LmdbLog(sys.argv[1], map_size=1 << 20) as log:
    print(log.append("s", [message("b")]).version, verify(log).findings)
"""

APPEND_WHEN_TOLD = """
import sys
from eventstore.lmdb_log import LmdbLog
from tests.support.events import event
with LmdbLog(sys.argv[1], map_size=1 << 18) as log:
    for line in sys.stdin:
        name, size = line.split()
        print(log.append("s", [event(name, data="x" * int(size))]).version, flush=True)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("only root on Linux may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "refold-test", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def check_filled(number: int, problem: str, again: str, held: list[str], sound: bool, after: int) -> None:
    assert number > 10
    for text in (problem, again):
        assert "cannot be written" in text
        assert text.endswith("nothing of this append was stored")
        assert "\n" not in text
    assert held == [f"e{each}{part}" for each in range(number) for part in ("", "+")]
    assert sound
    assert after == len(held) + 1


class TestFullDisk:
    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_an_append_fails_whole_and_the_store_goes_on_where_there_is_room_again(
        self, small_disk: Path, durability: Durability
    ) -> None:
        import json  # noqa: PLC0415

        check_filled(*json.loads(output_of(FILL_BY_APPENDING, small_disk, durability)))

    @pytest.mark.skipif(sys.platform == "win32", reason="this system knows no limit of a file's size")
    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_an_append_past_the_limit_of_a_files_size_fails_whole(
        self, tmp_path: Path, durability: Durability
    ) -> None:
        import json  # noqa: PLC0415

        check_filled(*json.loads(output_of(FILL_TO_A_LIMIT, tmp_path, durability)))
