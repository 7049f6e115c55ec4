from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.whole_file import write_atomically
from eventstore.errors import BadInputError


def failing() -> Iterator[bytes]:
    yield b"half"
    raise ValueError("no more")


def test_pieces_become_a_file_and_its_size_is_given(tmp_path: Path) -> None:
    assert write_atomically(str(tmp_path / "a"), [b"one ", b"two"]) == 7
    assert (tmp_path / "a").read_bytes() == b"one two"


def test_what_was_there_stays_where_the_pieces_end_early(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with pytest.raises(ValueError, match="no more"):
        write_atomically(str(tmp_path / "a"), failing())
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


@pytest.mark.parametrize("name", [".", "gone/a"])
def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInputError) as info:
        write_atomically(str(tmp_path / name), [b"x"])
    assert info.value.source == str(tmp_path / name)


def test_nothing_is_written_into_a_store(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"all sessions")
    for name in ("data.mdb", "deeper/report.html"):
        with pytest.raises(BadInputError, match="is in the store"):
            write_atomically(str(tmp_path / name), [b"x"])
    assert (tmp_path / "data.mdb").read_bytes() == b"all sessions"
