from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.errors import StoreError
from tests.cli.running import Outcome, Refold


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Refold, Outcome]:
    """The command with the store of a demo, and what the demo printed."""
    demo = Refold(tmp_path_factory.mktemp("demo") / "store")
    return demo, demo("--store", demo.store, "demo")


@pytest.mark.slow
def test_it_begins_with_the_audit(played: tuple[Refold, Outcome]) -> None:
    demo, outcome = played
    assert outcome.out.startswith(demo("--store", demo.store, "audit", "@last").out)


def test_it_ends_with_the_store_and_next_commands(
    played: tuple[Refold, Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A report is written in the folder where one is.
    monkeypatch.chdir(tmp_path)
    demo, outcome = played
    place = next(at for at, line in enumerate(outcome.lines) if f" {demo.store}. " in line)
    suggested = outcome.lines[place + 1 :]
    assert suggested
    for line in suggested:
        _, *arguments = line.split()
        demo(*arguments)


def test_the_store_is_sound(played: tuple[Refold, Outcome]) -> None:
    assert played[0]("verify", "--json").json["findings"] == []


def test_what_it_stored_can_be_written_on(played: tuple[Refold, Outcome]) -> None:
    demo, _ = played
    demo("label", "@last", "#1", "here it begins")
    assert demo("tree", "@last", "--json").json["nodes"][0]["label"] == "here it begins"


@pytest.mark.slow
def test_json_tells_where_the_store_is_and_the_audit(refold: Refold) -> None:
    found = refold("--store", refold.store, "demo", "--json").json
    assert sorted(found) == ["audit", "session", "store"]
    assert found["store"] == str(refold.store)
    assert [found["audit"]] == refold("audit", "--all", "--json").json["sessions"]


def test_a_store_that_holds_sessions_is_left_alone(told: Refold) -> None:
    before = told("sessions", "--json").raw
    assert told.refused(StoreError, "--store", told.store, "demo").path == str(told.store)
    assert told("sessions", "--json").raw == before


@pytest.mark.slow
def test_without_a_store_by_name_it_plays_into_a_temporary_one(
    told: Refold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The environment's store is where somebody's real sessions are.
    before = told("sessions", "--json").raw
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = Path(told("demo", "--json").json["store"])
    assert store.parent == tmp_path
    assert store != told.store
    assert told("sessions", "--json").raw == before


@pytest.mark.slow
def test_the_same_session_is_played_every_time(played: tuple[Refold, Outcome], refold: Refold) -> None:
    demo, outcome = played
    again = refold("--store", refold.store, "demo")
    assert again.out.replace(str(refold.store), str(demo.store)) == outcome.out
