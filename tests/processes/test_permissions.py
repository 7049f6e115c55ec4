"""Files that may not be written: reads work, everything else is refused in one line, and nobody is shut out."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.errors import StoreError
from eventstore.lmdb.store import LmdbLog
from tests.support.disks import disk, mount_for_reading
from tests.support.events import message, version
from tests.support.processes import output_of, running

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system knows no such permissions")

PRELUDE = """
import os, sys, tempfile
from eventstore import open_store
import eventstore.lmdb.store, lmdb.verify
from eventstore.backup import backup
from eventstore.errors import StoreError
from eventstore.verify import verify
from tests.support.events import message, version
with tempfile.TemporaryDirectory() as folder, open_store(folder) as log:
    # What the engine imports when it is first used: the interpreter's own files may be closed to others, too.
    verify(log)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
def problem_of(use):
    try:
        use()
    except StoreError as error:
        return str(error)
"""
"""Without any right that the files do not give to everyone."""

CHECK = f"""
from eventstore.lmdb.pages import check_pages
{PRELUDE}print(check_pages(sys.argv[1]))
"""

READ = f"""{PRELUDE}
with open_store(sys.argv[1]) as log:
    print(version(log, "s"), len(verify(log).findings), log.size().file_bytes > 0)
    print(problem_of(lambda: log.append("s", [message("b")])))
    print(problem_of(lambda: log.keep([(b"key", b"value")])))
    print(version(log, "s"))
"""

IMPORT = f"""
from cli.store import import_with_progress
from eventstore.errors import BadInputError
from eventstore.memory import MemoryLog
import eventstore.files.importing
{PRELUDE}
try:
    import_with_progress(MemoryLog(), sys.argv[1])
except BadInputError as error:
    print(error.problem)
"""

OPEN = f"""{PRELUDE}
print(problem_of(lambda: open_store(sys.argv[1])))
"""

BACK_UP = f"""{PRELUDE}
with open_store(sys.argv[1]) as log:
    print(backup(log, sys.argv[2]).verification.events)
"""

READ_WHEN_TOLD = f"""{PRELUDE}
def read():
    with log.snapshot() as snapshot:
        seen = len(list(snapshot.frames("s")))
        print(seen, flush=True)
        sys.stdin.readline()
with open_store(sys.argv[1]) as log:
    for _ in sys.stdin:
        print(problem_of(read), flush=True)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everyone may look into: pytest's own are closed to other users."""
    made = Path(tempfile.mkdtemp(prefix="refold-test-"))
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    for path in made.iterdir():
        path.chmod(0o755)
    shutil.rmtree(made)


@pytest.fixture
def store(folder: Path) -> Path:
    """A closed store with one event."""
    path = folder / "store"
    with open_store(path) as log:
        log.append("s", [message("a")])
    return path


def allow(store: Path, *, folder: int = 0o755, data: int = 0o644, lock: int | None = 0o644) -> None:
    """Set the rights of a store's files; without any for the lock file, it goes."""
    (store / "data.mdb").chmod(data)
    if lock is None:
        (store / "lock.mdb").unlink()
    else:
        (store / "lock.mdb").chmod(lock)
    store.chmod(folder)


@contextmanager
def shared(store: Path, *, lock: int) -> Iterator[LmdbLog]:
    """A store that this process has opened for writing before others got these rights."""
    with open_store(store) as log:
        allow(store, data=0o444, lock=lock)
        yield log


def check_read_only(store: Path, printed: str) -> None:
    reads, append, keep, after = printed.splitlines()
    assert (reads, after) == ("1 0 True", "1")
    assert append.startswith(f"{store}: ")
    # `keep` raises nothing: it stores only data that can be made again.
    assert keep == "None"


class TestReadOnly:
    @pytest.mark.parametrize(
        ("data", "lock"),
        [(0o444, 0o444), (0o444, 0o666), (0o666, 0o444), (0o444, None), (0o666, None)],
        ids=[
            "neither",
            "only the lock",
            "only the data",
            "neither, no lock file",
            "only the data, no lock file",
        ],
    )
    def test_a_store_is_read_and_not_written_where_a_file_of_it_may_not_be(
        self, store: Path, data: int, lock: int | None
    ) -> None:
        allow(store, folder=0o555, data=data, lock=lock)
        check_read_only(store, output_of(READ, store))

    def test_a_reader_makes_no_lock_file_that_would_shut_the_owner_out(self, store: Path) -> None:
        allow(store, folder=0o777, data=0o444, lock=None)
        check_read_only(store, output_of(READ, store))
        assert not (store / "lock.mdb").exists()

    def test_a_store_that_may_not_be_written_can_be_backed_up(self, folder: Path, store: Path) -> None:
        allow(store, folder=0o555, data=0o444, lock=0o444)
        (folder / "elsewhere").mkdir()
        (folder / "elsewhere").chmod(0o777)
        assert output_of(BACK_UP, store, folder / "elsewhere" / "copy") == "1\n"

    def test_a_store_on_a_disk_that_is_mounted_for_reading_is_read(self, folder: Path) -> None:
        with disk(folder, size="4m"):
            with open_store(folder / "store") as log:
                log.append("s", [message("a")])
            allow(folder / "store", lock=None)
            mount_for_reading(folder)
            check_read_only(folder / "store", output_of(READ, folder / "store"))
            with open_store(folder / "store") as log:
                assert version(log, "s") == 1
                with pytest.raises(StoreError):
                    log.append("s", [message("b")])


class TestReadersWithoutALock:
    """Writers do not see a reader that cannot write the lock file, and reuse its pages."""

    def test_a_snapshot_says_at_its_end_when_it_may_have_been_written_over(self, store: Path) -> None:
        with shared(store, lock=0o444) as log, running(READ_WHEN_TOLD, store) as reader:
            assert reader.ask("begin") == "1"
            for name in ("b", "c", "d"):
                log.append("s", [message(name)])
            assert reader.ask("end").startswith(f"{store}: ")
            assert reader.ask("begin") == "4"
            assert reader.ask("end") == "None"

    def test_a_snapshot_is_whole_where_the_pages_that_it_sees_are_not_yet_taken(self, store: Path) -> None:
        with shared(store, lock=0o444) as log, running(READ_WHEN_TOLD, store) as reader:
            assert reader.ask("begin") == "1"
            log.append("s", [message("b")])
            assert reader.ask("end") == "None"

    def test_a_snapshot_with_a_place_in_the_lock_file_never_says_so(self, store: Path) -> None:
        with shared(store, lock=0o666) as log, running(READ_WHEN_TOLD, store) as reader:
            assert reader.ask("begin") == "1"
            for name in ("b", "c", "d"):
                log.append("s", [message(name)])
            assert reader.ask("end") == "None"


class TestRefused:
    def test_a_store_that_may_not_be_read_is_refused_in_one_line(self, store: Path) -> None:
        allow(store, data=0)
        (line,) = output_of(OPEN, store).splitlines()
        assert line.startswith(f"{store}: ")
        assert "(Permission denied)" in line

    def test_a_folder_that_may_not_be_looked_into_is_refused_in_one_line(self, store: Path) -> None:
        allow(store, folder=0)
        (line,) = output_of(OPEN, store).splitlines()
        assert line.startswith(f"{store}: ")
        assert "(Permission denied)" in line

    @pytest.mark.parametrize("closed", ["data", "folder"])
    def test_the_pages_of_a_store_that_may_not_be_read_are_not_judged(self, store: Path, closed: str) -> None:
        allow(store, **{closed: 0})
        assert output_of(CHECK, store) == "None\n"

    @pytest.mark.parametrize("name", ["", "new", "new/and/deeper"])
    def test_no_store_is_made_in_a_folder_that_may_not_be_written(self, folder: Path, name: str) -> None:
        folder.chmod(0o555)
        (line,) = output_of(OPEN, folder / name).splitlines()
        assert line.startswith(f"{folder / name}: ")
        assert "(Permission denied)" in line
        assert list(folder.iterdir()) == []


def test_a_folder_that_may_not_be_read_is_not_taken_for_an_empty_one(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o000)
    assert output_of(IMPORT, closed).strip() == "cannot be read (Permission denied)"
