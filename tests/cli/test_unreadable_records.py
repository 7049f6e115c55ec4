"""Records that somebody put into a store otherwise, and no reader can read, end no command for other sessions."""

from __future__ import annotations

import pytest

from eventstore import NewEvent, open_store
from eventstore.event import EventFacts
from eventstore.verify import verify
from tests.cli.running import Refold
from tests.cli.tale import SESSION

RECORDS = {
    "message": ("pi/3", "message", b"not json"),
    "own-message": ("refold/1", "message", b"["),
    "compaction": ("refold/1", "compaction", b"[]"),
    "title": ("refold/1", "session_info", b"{"),
    "import": ("refold/1", "import", b"{"),
    "link": ("refold/1", "link", b"{}"),
    "note": ("refold/1", "note", b"x"),
    "row": ("opencode/1", "message", b"[1"),
    "summary": ("oh-my-pi/3", "compaction", b"nul"),
    "rewrite": ("refold/1", "observed_rewrite", b"{}"),
}


@pytest.fixture(params=RECORDS)
def poisoned(told: Refold, request: pytest.FixtureRequest) -> Refold:
    """A store with a sound session, and one that holds such a record."""
    form, kind, body = RECORDS[request.param]
    facts = EventFacts(role="user" if kind == "message" else "")
    with open_store(told.store) as log:
        log.append(
            "poison", [NewEvent(id="a", kind=kind, body=body, format=form, parent=None, time=1, facts=facts)]
        )
    return told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("sessions", SESSION),
        ("stats --by model", "5,272"),
        ("search parser", SESSION[:8]),
        ("audit --all", SESSION[:8]),
        ("check --all", SESSION[:8]),
        ("replay --all --at recorded --with recorded", "1 recorded boundary in 1 session"),
        ("push other", SESSION[:8]),
    ],
)
def test_the_other_sessions_have_their_answers(poisoned: Refold, arguments: str, said: str) -> None:
    done = poisoned(*arguments.split(), code=None)
    assert done.code in {0, 1}
    assert said in done.out


def test_verify_finds_it(poisoned: Refold) -> None:
    with open_store(poisoned.store) as log:
        assert {each.session for each in verify(log).findings} == {"poison"}


def test_show_prints_it_as_it_is(poisoned: Refold) -> None:
    shown = poisoned("show", "poison", "#1", code=None)
    assert shown.code in {0, 1}
    assert shown.lines
