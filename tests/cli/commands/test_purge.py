from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Refold

WORD = "Fix the parser"


def test_nothing_goes_without_consent(told: Refold) -> None:
    before = told("log", "@last", "--json").raw
    assert not told("purge", "@last", "--match", WORD, "--json", code=1).json["purged"]
    assert told("log", "@last", "--json").raw == before


def test_the_index_of_search_goes_too(told: Refold) -> None:
    told("search", WORD)
    assert list(told.store.glob("search.sqlite*"))
    told("purge", "@last", "--match", WORD, "--yes")
    assert not list(told.store.glob("search.sqlite*"))
    assert told("search", WORD, code=1).out == ""


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_text_is_read_from_standard_input(told: Refold, end: str) -> None:
    found = told("purge", "@last", "--match", "-", "--yes", "--json", stdin=f"{WORD}{end}").json
    assert [each["id"] for each in found["events"] if each["why"] == "holds"][:1] == ["u1"]


@pytest.mark.parametrize("given", [b"\n", b"\xff secret\n"])
def test_no_text_on_standard_input_is_refused(told: Refold, given: bytes) -> None:
    told("purge", "@last", "--match", "-", "--yes", stdin=given, code=2)


def test_a_text_that_nothing_holds_ends_well(told: Refold) -> None:
    assert told("purge", "@last", "--match", "nobody said this").lines == ["no record in the store holds it"]


def test_a_copy_of_the_store_is_named(told: Refold, tmp_path: Path) -> None:
    told("backup", "copy")
    found = told("purge", "@last", "--match", WORD, "--yes", "--json").json
    assert str(tmp_path / "copy" / "data.mdb") in found["stillIn"]
