"""Recognize the harness of a session file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from eventstore.errors import NoSessionError
from eventstore.files.discovery import ForeignSessionError, SessionFile, writer_of
from eventstore.files.importing import import_file, import_sessions
from eventstore.harnesses import format_of, harness, harnesses
from eventstore.harnesses.base import Certainty
from eventstore.memory import MemoryLog
from tests.support.pi_files import header, said


def writer(path: Path) -> str:
    return writer_of(
        SessionFile(harness="", place="", folder="", path=str(path), status=os.stat_result([0] * 10))
    )


def test_what_is_no_file_is_no_session_of_any_harness(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert writer(tmp_path / "pipe.jsonl") == ""
    assert writer(tmp_path) == ""


@pytest.mark.parametrize(
    ("content", "harness"),
    [
        (b'{"timestamp":"t","type":"session_meta","payload":{"id":"s"}}\n', "codex"),
        (b'{"info":{"id":"ses_1"},"messages":[]}', "opencode"),
        (b'Exporting session: ses_1\n{\n  "info": {', "opencode"),
        (header() + said("hello", "a", None), "pi"),
        (b"", ""),
        (b"\x00\xff{", ""),
        (b'[1]\n{"type":5,"sessionId":"s"}\n{"type":"session_meta","payload":1}\n', ""),
        (b'{"information":{}}', ""),
    ],
)
def test_a_session_is_recognized_by_the_shape_of_its_beginning(
    tmp_path: Path, content: bytes, harness: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    assert writer(tmp_path / "file") == harness


@pytest.mark.parametrize("take_in", [import_file, import_sessions])
def test_importing_one_names_the_harness(tmp_path: Path, take_in: Callable[..., object]) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(b'{"sessionId":"1","projectHash":"2"}')
    with pytest.raises(ForeignSessionError) as caught:
        take_in(MemoryLog(), path)
    assert (caught.value.harness, caught.value.source) == ("Gemini CLI", str(path))


@pytest.mark.parametrize("content", [b"a note\n", b'{"type":"config"}\n', b"[1, 2]\n", b"\0\0\n"])
def test_a_file_that_is_no_session_is_refused_with_all_harnesses_that_are_read(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(NoSessionError) as caught:
        import_sessions(MemoryLog(), path)
    assert [each.name for each in harnesses() if each.name not in caught.value.remedy] == []


@pytest.mark.parametrize("place", ["gone", "."])
def test_what_cannot_be_read_is_nobodys(tmp_path: Path, place: str) -> None:
    assert writer(tmp_path / place) == ""


@pytest.mark.parametrize(("folder", "harness"), [("codex", "codex"), ("opencode", "opencode")])
def test_real_sessions_are_recognized(corpus: Path, folder: str, harness: str) -> None:
    files = [path for path in (corpus / folder).rglob("*.json*") if path.is_file()]
    assert {writer(path) for path in files} == {harness}


def test_pi_keeps_its_sessions_where_its_variables_say() -> None:
    (place,) = harness("pi").places
    assert place.folder({}) == "~/.pi/agent/sessions"
    assert place.folder({"PI_CODING_AGENT_DIR": "/x"}) == "/x/sessions"
    assert place.folder({"PI_CODING_AGENT_DIR": "/x", "PI_CODING_AGENT_SESSION_DIR": "/y"}) == "/y"


@pytest.mark.parametrize(
    ("content", "certainty"),
    [
        (header(), Certainty.SURE),
        (b"\xef\xbb\xbf" + header(), Certainty.SURE),
        (said("hello", "a", None), Certainty.POSSIBLE),
        (b"", Certainty.POSSIBLE),
    ],
)
def test_pi_is_sure_of_a_header_and_possible_otherwise(content: bytes, certainty: Certainty) -> None:
    assert harness("pi").recognize(content, "file") is certainty


def test_refolds_own_records_are_in_no_file_of_their_own() -> None:
    assert "refold" not in [each.name for each in harnesses()]
    assert harness("refold").recognize(header(), "file") is Certainty.NONE
    with pytest.raises(KeyError):
        harness("nobody")
    with pytest.raises(KeyError):
        format_of("nobody/1")
