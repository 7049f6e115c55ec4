"""Compare an audit of a session with every metric to the session's import."""

from __future__ import annotations

import itertools
from functools import partial

import pytest

from bench.sessions import session_file
from eventstore import open_store
from eventstore.files.importing import import_file
from projections.audit.session import audit
from projections.audit.stored_audit import stored_audit
from projections.tokens import counter

GROUP = "audit"
AGAIN = "audit-again"
EVENTS = 2_000
ROUNDS = 5


@pytest.fixture
def file():
    return session_file(EVENTS, 60)


def import_into(path, file):
    with open_store(path) as log:
        import_file(log, file)


def audit_of(stored):
    with open_store(stored.store, create=False) as log:
        return audit(log, stored.session)


def test_refold_audits(measure, made):
    found = measure(GROUP, "refold", audit_of, made(EVENTS, 60), rounds=ROUNDS)
    assert len(found.compactions) == 3


def test_refold_audits_again(measure, made):
    """Read the audit of a session that has not changed from the store."""
    stored, tokens = made(EVENTS, 60), counter("utf16/4")
    with open_store(stored.store, create=False) as log:
        stored_audit(log, stored.session, tokens=tokens)
        found = measure(
            AGAIN, "refold", partial(stored_audit, log, stored.session, tokens=tokens), rounds=ROUNDS
        )
    assert len(found.compactions) == 3


@pytest.mark.parametrize("group", [GROUP, AGAIN])
def test_the_same_session_is_imported(measure, file, tmp_path, group):
    fresh = (tmp_path / str(number) for number in itertools.count())
    measure(group, "import", import_into, rounds=ROUNDS, setup=lambda: ((next(fresh), file), {}))
