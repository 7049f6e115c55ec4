"""`refold sync --watch` beside programs that write, tear, truncate, rename and delete session files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from random import Random
from threading import Thread
from typing import Any, BinaryIO

import pytest

from eventstore import export_original, open_store
from eventstore.errors import BadInputError, NotFoundError
from eventstore.files.importing import import_file
from eventstore.imports import generations
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import verify
from tests.cli.running import Refold, command
from tests.support.events import events
from tests.support.patience import PATIENCE, comes
from tests.support.pi_files import SESSION, header, said
from tests.support.processes import running

RESTLESS = "from tests.support.restless import main; main()"


class Watch:
    """A running `refold sync --watch --json`, and the objects that it prints."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.process = process
        self._lines: Queue[bytes] = Queue()
        Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def _read(self, out: BinaryIO) -> None:
        for line in out:
            self._lines.put(line)

    def hear(self, seconds: float = PATIENCE) -> Any:
        """Return the next object that it prints."""
        try:
            return json.loads(self._lines.get(timeout=seconds))
        except Empty:
            self.process.kill()
            assert self.process.stderr is not None
            raise AssertionError(self.process.stderr.read().decode() or "nothing was printed") from None

    def is_silent(self, seconds: float = 1.5) -> bool:
        try:
            self._lines.get(timeout=seconds)
        except Empty:
            return True
        return False

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send it a signal, and return its exit code and what it printed on stderr."""
        assert self.process.stderr is not None
        self.process.send_signal(number)
        errors = self.process.stderr.read().decode()
        return self.process.wait(PATIENCE), errors


@pytest.fixture
def refold(tmp_path: Path) -> Refold:
    (tmp_path / "home").mkdir()
    return Refold(tmp_path / "store")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder where pi keeps its sessions; it does not exist yet."""
    return tmp_path / "home" / ".pi" / "agent" / "sessions"


@contextmanager
def watching(refold: Refold, *paths: Path, **environment: str) -> Iterator[Watch]:
    """A watch of these paths, or of a made-up home, which has looked at all files once."""
    where = paths or ("--home", refold.store.parent / "home")
    process = subprocess.Popen(
        command("sync", "--watch", "--json", *where),
        env=refold.environment(**environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            watch = Watch(process)
            while "watching" not in watch.hear():
                pass
            yield watch
        finally:
            process.kill()


def begin(place: Path, *texts: str, day: str = "--monday--") -> Path:
    """Write a session of pi with a message for each text."""
    folder = place / day
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "session.jsonl"
    path.write_bytes(header(3) + b"".join(said(each, each, None) for each in texts))
    return path


def append(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


def ids(refold: Refold, session: str = SESSION) -> list[str]:
    with open_store(refold.store, create=False) as log:
        return [each.id for each in events(log, session) if each.kind == "message"]


POLLING = {"WATCHFILES_FORCE_POLLING": "1"}


@pytest.mark.parametrize("environment", [{}, POLLING], ids=["notified", "polling"])
class TestChanges:
    def test_files_of_asked_agents_are_left_out(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        with watching(refold, **environment) as watch:
            begin(place, "asked", day="--tmp-refold-ask-a1b2c3d4--")
            assert watch.is_silent()
            begin(place, "first")
            assert watch.hear()["session"] == SESSION
            assert ids(refold) == ["first"]

    def test_each_record_comes_to_the_store_whenever_it_is_written(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        path = begin(place, "first")
        with watching(refold, **environment), open_store(refold.store, create=False) as log:
            for number in range(5):
                append(path, said("more", f"m{number}", None))
                assert comes(lambda number=number: is_there(log, f"m{number}"))
                time.sleep(Random(number).uniform(0, 0.3))

    def test_files_of_folders_that_did_not_exist_are_imported(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        with watching(refold, **environment) as watch:
            path = begin(place, "first")
            assert watch.hear() == {
                "session": SESSION,
                "harness": "pi",
                "added": 1,
                "rewritten": 0,
                "file": str(path),
            }
            for number in range(5):
                day = place / f"--day-{number}--"
                day.mkdir()
                day.joinpath("s.jsonl").write_bytes(header(3, session=f"s{number}") + said("a", "a", None))
                assert watch.hear()["session"] == f"s{number}"

    def test_a_place_that_was_removed_and_made_again_is_followed(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        begin(place, "first")
        with watching(refold, **environment) as watch:
            place.rename(place.with_name("elsewhere"))
            assert watch.is_silent()
            append(begin(place, "first"), said("second", "second", None))
            assert watch.hear()["added"] == 1
        assert ids(refold) == ["first", "second"]

    def test_a_torn_line_is_imported_when_it_is_whole(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        path = begin(place, "first")
        line = said("second", "second", None)
        with watching(refold, **environment) as watch:
            append(path, line[:30])
            assert watch.is_silent()
            append(path, line[30:])
            assert watch.hear()["added"] == 1
            assert watch.end() == (0, "")
        assert ids(refold) == ["first", "second"]

    def test_a_new_file_has_no_header_yet(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        (place / "--monday--").mkdir(parents=True)
        whole = header(3) + said("first", "first", None)
        path = place / "--monday--" / "session.jsonl"
        with watching(refold, **environment) as watch:
            for end in (0, 20):
                path.write_bytes(whole[:end])
                assert watch.is_silent()
            path.write_bytes(whole)
            assert watch.hear()["added"] == 1
            assert watch.end()[0] == 0

    def test_a_truncated_file_takes_nothing_from_its_session(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        path = begin(place, "first", "second", "third")
        with watching(refold, **environment) as watch:
            short = begin(place, "first").read_bytes()
            assert comes(lambda: original(refold) == short)
            append(path, said("fourth", "fourth", None))
            assert watch.hear()["added"] == 1
        assert ids(refold) == ["first", "second", "third", "fourth"]
        assert original(refold) == path.read_bytes()

    def test_a_file_replaced_by_another_session_is_another_session(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        path = begin(place, "first")
        with watching(refold, **environment) as watch:
            path.with_suffix(".new").write_bytes(header(3, session="other") + said("a", "a", None))
            path.with_suffix(".new").replace(path)
            assert watch.hear()["session"] == "other"
        assert ids(refold) == ["first"]

    def test_a_renamed_file_goes_on_and_a_deleted_one_stays_in_the_store(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        path = begin(place, "first")
        other = place / "--tuesday--" / "other.jsonl"
        other.parent.mkdir()
        with watching(refold, **environment) as watch:
            path.rename(other)
            append(other, said("second", "second", None))
            assert watch.hear()["file"] == str(other)
            other.unlink()
            assert watch.is_silent()
            assert watch.end() == (0, "")
        assert ids(refold) == ["first", "second"]

    def test_a_damaged_id_is_told_of_and_does_not_move_the_session(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        path = begin(place, "first", "second", "third")
        with watching(refold, **environment) as watch:
            path.write_bytes(path.read_bytes().replace(b'"id":"second"', b'"id":"other"'))
            assert watch.hear()["added"] == 1
            assert watch.process.stderr is not None
            assert b"1 line added to a branch" in watch.process.stderr.readline()
            assert watch.end() == (0, "")
        assert refold("tree", SESSION, "--json").json["leaf"] != "other"

    def test_a_line_that_cannot_be_read_is_told_of_once_and_a_torn_one_not(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        path = begin(place, "first")
        append(path, b"no record\n")
        with watching(refold, **environment) as watch:
            assert watch.process.stderr is not None
            assert f"{path}: 1 line skipped".encode() in watch.process.stderr.readline()
            line = said("third", "third", None)
            append(path, said("second", "second", None) + line[:30])
            assert watch.hear()["added"] == 1
            append(path, line[30:])
            assert watch.hear()["added"] == 1
            append(path, b"no record\n", said("fourth", "fourth", None))
            assert watch.hear()["added"] == 1
            assert f"{path}: 2 lines skipped".encode() in watch.process.stderr.readline()
            assert watch.end() == (0, "")

    def test_a_file_that_stays_unreadable_is_one_line_on_stderr(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        begin(place, "first")
        with watching(refold, **environment) as watch:
            bad = place / "--monday--" / "bad.jsonl"
            bad.write_bytes(b"no session\n")
            assert watch.process.stderr is not None
            assert str(bad).encode() in watch.process.stderr.readline()
            append(bad, b"still none\n")
            append(place / "--monday--" / "session.jsonl", said("second", "second", None))
            assert watch.hear()["added"] == 1
            assert watch.end() == (0, "")

    def test_a_changed_file_that_fails_at_every_retry(
        self, refold: Refold, place: Path, environment: dict[str, str]
    ) -> None:
        path, other = begin(place, "first"), begin(place, "first", day="--tuesday--")
        other.write_bytes(header(3, session="other"))
        whole = path.read_bytes()
        with watching(refold, **environment) as watch:
            path.write_bytes(b"no session\n")
            assert watch.process.stderr is not None
            assert str(path).encode() in watch.process.stderr.readline()
            for text in ("second", "third"):
                append(path, b"still none\n")
                append(other, said(text, text, None))
                assert watch.hear()["session"] == "other"
                # Until what fails would be reported.
                assert watch.is_silent(4)
            path.write_bytes(whole + said("second", "second", None))
            assert watch.hear()["added"] == 1
            assert watch.end() == (0, "")


@pytest.mark.parametrize("environment", [{}, POLLING], ids=["notified", "polling"])
def test_named_files_and_folders_are_watched_alone(
    refold: Refold, place: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    file, folder = tmp_path / "file.jsonl", tmp_path / "folder"
    file.write_bytes(header(3, session="file"))
    folder.mkdir()
    with watching(refold, file, folder, **environment) as watch:
        begin(place, "elsewhere")
        append(file, said("first", "first", None))
        assert watch.hear()["session"] == "file"
        other = file.with_suffix(".new")
        other.write_bytes(file.read_bytes() + said("second", "second", None))
        other.replace(file)
        assert watch.hear()["added"] == 1
        (folder / "more.jsonl").write_bytes(header(3, session="more") + said("a", "a", None))
        assert watch.hear()["session"] == "more"
        assert watch.end() == (0, "")


def is_there(log: LmdbLog, event_id: str) -> bool:
    with log.snapshot() as snapshot:
        return snapshot.locate(SESSION, event_id) > 0


def original(refold: Refold, session: str = SESSION) -> bytes:
    with open_store(refold.store, create=False) as log:
        return b"".join(export_original(log, session))


def test_ctrl_c_is_how_it_ends(refold: Refold) -> None:
    with watching(refold) as watch:
        assert watch.end(signal.SIGINT) == (0, "")


def test_lines_for_people_name_session_harness_and_count(refold: Refold, place: Path) -> None:
    path = begin(place, "first", "second")
    process = refold.started(
        *("sync", "--watch", "--home", refold.store.parent / "home"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"imported 2 events")
            append(path, said("third", "third", None))
            assert process.stdout.readline().decode().split("  ") == [
                SESSION,
                "pi",
                "1 new event",
                f"{path}\n",
            ]
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


@pytest.mark.long
@pytest.mark.parametrize("environment", [{}, POLLING], ids=["notified", "polling"])
def test_whatever_a_writer_does_the_store_loses_nothing(
    refold: Refold, place: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    random = Random(str(environment))
    seen: dict[str, tuple[int, bytes]] = {}
    place.mkdir(parents=True)
    for part in range(3):
        # The watch is killed while a writer is at work, and another one goes on.
        with watching(refold, **environment) as watch:
            for each in range(3):
                write_for_a_while(place, 10 * part + each, random)
                remember(refold, seen)
            if part == 2:
                assert comes(lambda: not unequal_files(refold, place)), unequal_files(refold, place)
                assert watch.end()[0] == 0
    synced = refold("sync", "--json", "--home", tmp_path / "home", code=None).json
    assert sum(project["events"] for project in synced["projects"]) == 0
    with open_store(refold.store, create=False) as log, open_store(tmp_path / "fresh") as fresh:
        assert verify(log).findings == []
        for session, (version, digest) in seen.items():
            assert {each.seq: each.digest for each in events(log, session)}[version] == digest
        for path in place.glob("*/*.jsonl"):
            with suppress(BadInputError):
                base = import_file(fresh, path).id
                with log.snapshot() as snapshot:
                    names = [head.name for head in generations(snapshot, base)]
                stored = {(each.id, each.body) for name in names for each in events(log, name)}
                messages = {(each.id, each.body) for each in events(fresh, base) if each.kind == "message"}
                assert messages <= stored


def write_for_a_while(place: Path, seed: int, random: Random) -> None:
    """Let a writer do some dozens of things, and kill it in the middle of one."""
    with running(RESTLESS, place, str(seed)) as writer:
        for _ in range(random.randrange(20, 60)):
            writer.hear()
        time.sleep(random.uniform(0, 0.05))
        writer.kill()


def remember(refold: Refold, seen: dict[str, tuple[int, bytes]]) -> None:
    """Note the newest event of each session of the store."""
    with open_store(refold.store, create=False) as log, log.snapshot() as snapshot:
        for head in list(snapshot.heads()):
            seen[head.name] = head.version, head.digest


def unequal_files(refold: Refold, place: Path) -> list[str]:
    """Return the readable files that no session of the store gives back byte for byte."""
    with open_store(refold.store, create=False) as log, log.snapshot() as snapshot:
        originals = set()
        for head in list(snapshot.heads()):
            try:
                originals.add(b"".join(export_original(log, head.name)))
            except NotFoundError:
                continue
    return [
        str(path)
        for path in place.glob("*/*.jsonl")
        if path.read_bytes() not in originals and b"\n" in path.read_bytes()
    ]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the processor's time is read from /proc")
def test_an_idle_watch_takes_next_to_no_time(refold: Refold, place: Path) -> None:
    for number in range(500):
        folder = place / f"--project-{number % 20}--"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.jsonl").write_bytes(header(3, session=f"s{number}") + said("a", "a", None))
    with watching(refold) as watch:
        # What it does at first may take its time on a busy machine.
        assert any(cpu_seconds_in(10, watch.process.pid) < 0.2 for _ in range(10))


def cpu_seconds_in(seconds: float, pid: int) -> float:
    """Return the seconds of the processor that a process takes in so many from now on."""
    before = cpu_seconds(pid)
    time.sleep(seconds)
    return cpu_seconds(pid) - before


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
