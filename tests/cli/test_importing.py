from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Refold
from tests.support.pi_files import header, said

LARGE = header() + b"".join(said("word " * 2000, f"e{number}", None) for number in range(600))


@pytest.fixture
def large(refold: Refold, tmp_path: Path) -> Refold:
    (tmp_path / "large.jsonl").write_bytes(LARGE)
    return refold


def test_on_a_terminal_a_large_file_is_imported_under_a_bar(large: Refold) -> None:
    assert "importing large.jsonl" in large.on_terminal("import", "large.jsonl")


def test_off_a_terminal_there_is_no_bar(large: Refold) -> None:
    assert large.program("import", "large.jsonl").errors == ""


def test_a_small_file_is_worth_no_bar(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "small.jsonl").write_bytes(header() + said("hello", "e1", None))
    assert "importing" not in refold.on_terminal("import", "small.jsonl")


def test_a_file_that_holds_less_than_the_store_has_of_its_session_is_told(
    refold: Refold, tmp_path: Path
) -> None:
    longer = header() + said("hello", "e1", None) + said("again", "e2", "e1")
    (tmp_path / "longer.jsonl").write_bytes(longer)
    (tmp_path / "shorter.jsonl").write_bytes(header() + said("hello", "e1", None))
    assert refold("audit", "longer.jsonl").errors == ""
    told = refold("audit", "shorter.jsonl")
    (note,) = told.notes
    assert [each in note for each in ("shorter.jsonl: ", " 1 of the 2 ")] == [True, True]
    assert "2 entries" in told.out


def test_a_file_that_is_only_named_is_imported_under_a_bar_too(large: Refold) -> None:
    assert "importing large.jsonl" in large.on_terminal("audit", "large.jsonl")
