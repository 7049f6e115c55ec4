"""Which files are session files of pi, and which session they are of."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from eventstore import EventLog
from eventstore.errors import BadInputError
from eventstore.importing import import_file
from tests.support.pi_files import bring, header, original, said

H = header(3)
A, B = said("a", "a", None), said("b", "b", "a")


def session_names(log: EventLog) -> list[str]:
    with log.snapshot() as snapshot:
        return [head.name for head in snapshot.heads()]


class TestRefused:
    def refusal(self, log: EventLog, path: Path) -> str:
        with pytest.raises(BadInputError) as caught:
            import_file(log, path)
        assert "\n" not in str(caught.value)
        assert session_names(log) == []
        return str(caught.value).removeprefix(str(path))

    def test_a_file_that_is_not_there(self, log: EventLog, tmp_path: Path) -> None:
        assert self.refusal(log, tmp_path / "file") == ": there is no such file; check the path"

    def test_a_folder(self, log: EventLog, tmp_path: Path) -> None:
        assert self.refusal(log, tmp_path) == ": is a folder; name the session files in it"

    def test_an_empty_file(self, log: EventLog, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        assert "is empty" in self.refusal(log, tmp_path / "file")

    @pytest.mark.parametrize(
        ("content", "line"),
        [
            (b"\x89PNG\r\n\x1a\n\0\0\0", 3),
            (b'{"type":"title","v":1}\n' + H, 1),
            (b'{"uuid":"x"}\n', 1),
            (b"plain text\nmore\n", 2),
            (header(3).replace(b":3", b":4"), 1),
        ],
    )
    def test_a_file_that_is_no_session_of_pi(
        self, log: EventLog, tmp_path: Path, content: bytes, line: int
    ) -> None:
        (tmp_path / "file").write_bytes(content)
        assert self.refusal(log, tmp_path / "file").startswith(f":{line}: ")

    def test_a_session_name_too_long_for_a_store(self, log: EventLog, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(header(3, session="x" * 500) + A)
        with pytest.raises(BadInputError, match="1 to 480 bytes"):
            import_file(log, tmp_path / "file")


class TestWithoutAHeader:
    @pytest.mark.parametrize(
        "content", [A + B, said("a") + said("b"), H[:-9] + A, header(3, session=None) + A]
    )
    def test_a_file_without_a_usable_header_is_taken_in_all_the_same(
        self, log: EventLog, tmp_path: Path, content: bytes
    ) -> None:
        found = bring(log, tmp_path, content)
        assert found.events >= 1
        assert original(log, found.id) == content
        assert bring(log, tmp_path, content) == msgspec.structs.replace(found, added=0)

    def test_a_lone_surrogate_is_no_name(self, log: EventLog, tmp_path: Path) -> None:
        content = header(3, session="\ud800") + A
        found = bring(log, tmp_path, content)
        assert found.id.startswith("noid-")
        assert original(log, found.id) == content
