"""Write the contexts of real sessions as files of other harnesses, and read them again."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from tests.support import codex
from tests.support.resumed import assert_same, written_again

WRITERS = ("pi", "oh-my-pi", "claude-code", "codex", "opencode")
NAMES = {"codex": codex.name_of()}
"""Names that a harness gives its files, where it reads no other."""
FOLDERS = ("pi", "claude-code", "codex", "opencode")


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_written_context_is_read_again(corpus: Path, tmp_path: Path, folder: str) -> None:
    for path in sorted((corpus / folder).rglob("*.json*")):
        log = MemoryLog()
        for session in import_sessions(log, path):
            for form in WRITERS:
                assert_same(written_again(log, session.id, form, tmp_path / NAMES.get(form, "written")))
