"""The watcher of session files where the system reports no changes, or reports them otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from eventstore import open_store
from eventstore.files import watching
from eventstore.files.discovery import files_below
from eventstore.files.watching import Notifications, Watcher
from eventstore.lmdb.store import LmdbLog
from tests.support.pi_files import SESSION, header, said
from tests.support.processes import output_of

WITHOUT_A_FREE_DESCRIPTOR = """
import os, resource, sys
from functools import partial
from pathlib import Path
from eventstore import open_store
from eventstore.files.discovery import files_below
from eventstore.files.watching import Watcher
from tests.support.pi_files import header, said

def announce(reason):
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))
    print("polling", flush=True)
    Path(sys.argv[2], "a.jsonl").write_bytes(header(3) + said("a", "a", None))

before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
with open_store(sys.argv[1]) as log:
    watcher = Watcher(log, partial(files_below, sys.argv[2]), [sys.argv[2]], on_polling=announce)
    assert list(watcher.sync()) == []
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) - 1, most))
    print(next(watcher.run()).sessions[0].added)
"""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LmdbLog]:
    with open_store(tmp_path / "store") as log:
        yield log


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a session that the store has."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "session.jsonl").write_bytes(header(3) + said("first", "first", None))
    return folder


def append(folder: Path, event_id: str) -> None:
    with (folder / "session.jsonl").open("ab") as file:
        file.write(said("more", event_id, None))


@pytest.mark.slow
def test_without_the_means_for_notifications_it_polls_and_says_so_once(tmp_path: Path, folder: Path) -> None:
    (folder / "session.jsonl").unlink()
    assert output_of(WITHOUT_A_FREE_DESCRIPTOR, tmp_path / "store", folder).split() == ["polling", "1"]


@pytest.mark.slow
def test_where_changes_are_not_reported_it_polls_from_then_on(
    log: LmdbLog, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_ROUTINE", 0.1)
    monkeypatch.setattr(watching, "_GRACE", 0.1)
    other, reasons = tmp_path / "other", list[str]()
    other.mkdir()
    # It follows another folder than the one where files change, as with a network file system.
    watcher = Watcher(log, partial(files_below, str(folder)), [str(other)], on_polling=reasons.append)
    assert [each.sessions[0].added for each in watcher.sync()] == [1]
    found = watcher.run()
    for number in range(4):
        append(folder, f"m{number}")
        assert next(found).sessions[0].added == 1
    assert len(reasons) == 1
    assert "session.jsonl" in reasons[0]


@pytest.mark.slow
def test_where_it_polls_it_waits_less_than_a_second_for_a_record_or_a_file(
    log: LmdbLog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    # A clock that only its own waits move: what others do with the processor takes no time.
    monkeypatch.setattr(watching, "time", SimpleNamespace(sleep=waits.append, monotonic=lambda: sum(waits)))
    watcher = Watcher(log, partial(files_below, str(folder)), [str(folder)], polls=True)
    list(watcher.sync())
    found = watcher.run()
    for number in range(20):
        before = sum(waits)
        if number % 2:
            append(folder, f"m{number}")
        else:
            (folder / f"{number}.jsonl").write_bytes(header(3, session=f"s{number}") + said("a", "a", None))
        assert next(found).sessions[0].added == 1
        assert sum(waits) - before < 1


@pytest.mark.slow
def test_what_the_system_reports_is_imported_before_the_next_wait(
    log: LmdbLog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_ROUTINE", 1000.0)
    wait, reports = Notifications.wait, list[set[str] | None]()

    def noted(notifications: Notifications) -> set[str] | None:
        reports.append(wait(notifications))
        return reports[-1]

    monkeypatch.setattr(Notifications, "wait", noted)
    watcher = Watcher(log, partial(files_below, str(folder)), [str(folder)])
    list(watcher.sync())
    found = watcher.run()
    for number in range(5):
        append(folder, f"m{number}")
        assert next(found).sessions[0].added == 1
        *quiet, last = reports
        assert last != set()
        assert not any(quiet)
        reports.clear()


@pytest.mark.slow
def test_reported_changes_are_no_reason_to_poll(
    log: LmdbLog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_ROUTINE", 0.0)
    monkeypatch.setattr(watching, "_ROUTINE_SHARE", 0)
    reasons = list[str]()
    watcher = Watcher(log, partial(files_below, str(folder)), [str(folder)], on_polling=reasons.append)
    list(watcher.sync())
    found = watcher.run()
    for number in range(20):
        append(folder, f"m{number}")
        assert next(found).sessions[0].added == 1
    assert reasons == []


@pytest.mark.slow
def test_files_of_a_linked_folder_keep_their_names(
    log: LmdbLog, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    monkeypatch.setattr(watching, "_ROUTINE", 1000.0)
    watcher = Watcher(log, partial(files_below, str(link)), [str(link)])
    list(watcher.sync())
    found = watcher.run()
    for number in range(5):
        append(folder, f"m{number}")
        assert next(found).file.path == str(link / "session.jsonl")


def test_a_file_that_may_not_be_read_is_imported_once_it_may(
    log: LmdbLog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    monkeypatch.setattr(watching, "_SETTLED", 0.0)
    path = folder / "session.jsonl"
    path.chmod(0)
    watcher = Watcher(log, partial(files_below, str(folder)), [str(folder)])
    assert list(watcher.sync()) == []
    found = watcher.run()
    assert next(found).error is not None
    path.chmod(0o600)
    assert [each.id for each in next(found).sessions] == [SESSION]
