"""`refold push` and `refold pull`: from the command line to equal stores."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from eventstore import open_store
from eventstore.errors import NotFoundError, StoreError
from eventstore.files.discovery import session_files
from eventstore.files.syncing import import_files
from tests.cli.running import Refold
from tests.support.homes import a_home, chains
from tests.support.postgres import Server


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refold:
    """The command on a store with sessions of three harnesses."""
    monkeypatch.chdir(tmp_path)
    with open_store(tmp_path / "here") as log:
        assert all(
            each.error is None
            for each in import_files(log, session_files({}, [str(a_home(tmp_path))]), jobs=1)
        )
    return Refold(tmp_path / "here")


@pytest.fixture
def there(here: Refold) -> Refold:
    """The command on a store that does not exist yet."""
    return Refold(here.store.parent / "there")


def chains_of(refold: Refold) -> dict[str, bytes]:
    with open_store(refold.store, create=False) as log:
        return chains(log)


def append(refold: Refold, session: str, text: str) -> None:
    refold("append", session, stdin=json.dumps({"type": "custom", "customType": text}))


def added(printed: object) -> dict[str, int]:
    return {each["session"]: each["added"] for each in printed["sessions"] if each["added"]}  # type: ignore[index]


@pytest.mark.slow
def test_a_push_makes_an_equal_store_and_a_pull_brings_back_what_is_new(here: Refold, there: Refold) -> None:
    here("push", there.store)
    assert chains_of(there) == chains_of(here)
    append(there, "one-1", "x")
    append(there, "new", "x")
    here("pull", there.store)
    assert chains_of(there) == chains_of(here)
    assert there("verify").code == 0


def test_a_pull_makes_the_store(here: Refold, there: Refold) -> None:
    there("pull", here.store)
    assert chains_of(there) == chains_of(here)


@pytest.mark.parametrize("name", ["parent-p", "@last", "two-1"])
def test_a_session_goes_with_its_subagents(here: Refold, there: Refold, name: str) -> None:
    here("push", there.store, "--session", name)
    expected = {"parent-p": {"parent-p", "child-p"}, "@last": {"parent-q", "child-q"}, "two-1": {"two-1"}}
    assert set(chains_of(there)) == expected[name]


def test_no_file_is_imported_into_the_store_that_is_read(here: Refold, there: Refold, tmp_path: Path) -> None:
    before = chains_of(here)
    (file := tmp_path / "more.jsonl").write_bytes(next(tmp_path.rglob("one-1.jsonl")).read_bytes())
    assert there.refused(NotFoundError, "pull", here.store, "--session", file).name == str(file)
    assert chains_of(here) == before


def test_a_diverged_session_is_one_line_and_the_others_are_copied(here: Refold, there: Refold) -> None:
    here("push", there.store, "--session", "one-1")
    append(here, "one-1", "x")
    append(there, "one-1", "y")
    before = chains_of(there)
    outcome = here("push", there.store, "--json", code=1)
    (found,) = [each for each in outcome.json["sessions"] if each["problem"]]
    assert (found["session"], found["divergedAt"], found["added"]) == ("one-1", 5, 0)
    assert outcome.errors == f"refold: {found['problem']}\n"
    assert chains_of(there) == chains_of(here) | before
    with open_store(here.store) as one, open_store(there.store) as other:
        with one.snapshot() as snapshot:
            assert snapshot.head("one-1").version == found["version"]
        with other.snapshot() as snapshot:
            assert snapshot.head("one-1").version == found["divergedAt"]


@pytest.mark.slow
def test_a_database_is_a_store_like_a_folder(here: Refold, there: Refold, postgres: Server) -> None:
    url = postgres.new_store()
    assert len(added(here("push", url, "--json").json)) == len(chains_of(here))
    assert added(here("push", url, "--json").json) == {}
    there("pull", url)
    assert chains_of(there) == chains_of(here)
    here.refused(click.BadParameter, "--store", url, "pull", url, code=2)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_the_store_itself_is_refused(here: Refold, direction: str) -> None:
    here.refused(click.BadParameter, direction, f"{here.store}/../here/", code=2)


def test_a_store_that_is_not_there_is_named(here: Refold, there: Refold) -> None:
    assert there.refused(StoreError, "pull", "nowhere").path == "nowhere"
    assert there.refused(StoreError, "push", here.store).path == str(there.store)
    assert not there.store.exists()


def test_a_damaged_store_is_named(here: Refold, there: Refold) -> None:
    here("push", there.store)
    (there.store / "data.mdb").write_bytes(bytes(range(256)) * 64)
    assert here.refused(StoreError, "push", there.store).path == str(there.store)
    assert there.refused(StoreError, "pull", here.store).path == str(there.store)
