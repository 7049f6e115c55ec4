"""Compare importing small files into a store of 5,000 sessions to importing them into one of 500."""

from __future__ import annotations

import itertools

import pytest

from eventstore import open_store
from eventstore.files.discovery import session_files
from eventstore.files.syncing import import_files
from tests.support import claude_code
from tests.support.events import message
from tests.support.homes import CLAUDE, write

SESSIONS = {"refold": 5_000, "few": 500}
FILES = 100
ROUNDS = 5


def write_home(home, name):
    """Write sessions that share no record with another; each asks which sessions have its first one."""
    for each in range(FILES):
        session = f"{name}-{each}"
        lines = [
            claude_code.said(f"u-{session}", None, "hello"),
            claude_code.answer(f"a-{session}", f"u-{session}", f"m-{session}", "yes"),
        ]
        content = b"\n".join(lines).replace(claude_code.SESSION.encode(), session.encode()) + b"\n"
        write(home / CLAUDE / "-home-me" / f"{session}.jsonl", content)
    return session_files({}, [str(home)])


@pytest.mark.parametrize("role", SESSIONS)
def test_a_file_takes_the_same_time_everywhere(measure, tmp_path, role):
    with open_store(tmp_path / "store") as log:
        for number in range(SESSIONS[role]):
            log.append(f"s{number}", [message(f"e{number}"), message(f"f{number}")])
        fresh = (write_home(tmp_path / str(number), number) for number in itertools.count())
        bring = lambda files: [each.error for each in import_files(log, files)]  # noqa: E731
        found = measure(
            "many-files",
            role,
            bring,
            rounds=ROUNDS,
            setup=lambda: ((next(fresh),), {}),
            sessions=SESSIONS[role],
        )
        assert found == [None] * FILES
