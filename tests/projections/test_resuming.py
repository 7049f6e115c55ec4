"""Contexts of generated sessions, written as files of other harnesses, say the same when they are read again."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings

from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from tests.support import claude_code, codex, oh_my_pi_sessions, pi_sessions
from tests.support.examples import examples
from tests.support.resumed import assert_same, resumed, written_again

FORMS = ("pi", "oh-my-pi", "claude-code", "codex", "opencode")
SEEDS = range(25)
NAMES = {"codex": codex.name_of()}
"""Names that a harness gives its files, where it reads no other."""


def check(content: bytes, form: str) -> None:
    log = MemoryLog()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "source"
        path.write_bytes(content)
        for session in import_sessions(log, path):
            context, _ = resumed(log, session.id)
            if context.messages or context.summary:
                assert_same(written_again(log, session.id, form, Path(folder) / NAMES.get(form, "written")))


@pytest.mark.parametrize("form", FORMS)
@given(entries=pi_sessions.pi_entries())
@settings(max_examples=examples(60), derandomize=True, deadline=None)
def test_sessions_of_pi_are_said_again(form: str, entries: list[Any]) -> None:
    check(pi_sessions.file_of(entries), form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_sessions_of_oh_my_pi_are_said_again(form: str, seed: int) -> None:
    rng = random.Random(seed)
    check(oh_my_pi_sessions.file_of(oh_my_pi_sessions.entries_of(rng, rng.randint(2, 40))), form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_sessions_of_claude_code_are_said_again(form: str, seed: int) -> None:
    check(b"\n".join(claude_code.some_session(random.Random(seed), 30)) + b"\n", form)
