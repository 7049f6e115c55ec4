"""A damaged row in the table of sessions costs a line, and all commands go on with the other sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore import open_store
from tests.cli.listing_commands import COMMANDS, costs_a_line
from tests.cli.running import Refold
from tests.support.events import message
from tests.support.tampering import event_key, tables


@pytest.fixture
def damaged(refold: Refold) -> Refold:
    """A store with the sessions `other` and `s`, and nonsense as the head of `other`."""
    with open_store(refold.store) as log:
        log.append("other", [message("b", "a parser of another kind")])
        log.append("s", [message("a", "the parser")])
    refold("search", "parser")
    with tables(refold.store) as stored:
        number = stored.get("sessions", b"nother")
        stored.put("sessions", b"h" + number, b"noise")
    return refold


@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_head_costs_a_line(damaged: Refold, command: str, tmp_path: Path) -> None:
    costs_a_line(damaged, command, tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_frame_cut_off_costs_a_line(refold: Refold, command: str, tmp_path: Path) -> None:
    with open_store(refold.store) as log:
        log.append("other", [message("b", "a parser of another kind")])
        log.append("s", [message("a", "the parser")])
    refold("search", "parser")
    with tables(refold.store) as stored:
        stored.put("events", event_key(1, 1), b"noise")
    costs_a_line(refold, command, tmp_path)


def test_a_damaged_head_is_in_no_new_index(damaged: Refold) -> None:
    (damaged.store / "search.sqlite").unlink()
    found = damaged("search", "parser", "--json", code=1)
    assert [hit["session"] for hit in found.json["hits"]] == ["s"]


def test_a_damaged_head_is_not_saved(damaged: Refold, tmp_path: Path) -> None:
    heads = tmp_path / "heads"
    assert "other" in damaged("verify", "--heads", heads, code=1).out
    assert not heads.exists()


def test_a_head_damaged_at_both_ends_is_told(damaged: Refold, tmp_path: Path) -> None:
    with open_store(tmp_path / "copy") as log:
        log.append("other", [message("b")])
    with tables(tmp_path / "copy") as stored:
        stored.put("sessions", b"h" + stored.get("sessions", b"nother"), b"noise")
    assert "'other'" in damaged("push", tmp_path / "copy", code=1).errors


def test_a_title_is_found_beside_a_damaged_head(damaged: Refold) -> None:
    assert damaged("context", "the parser").out == damaged("context", "s").out
