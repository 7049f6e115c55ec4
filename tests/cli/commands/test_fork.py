from __future__ import annotations

from eventstore.errors import CorruptionError
from tests.cli.running import Refold
from tests.cli.tale import ENTRIES, SESSION
from tests.support.tampering import tables


def context(refold: Refold, *arguments: str) -> bytes:
    return refold("context", *arguments, "--format", "pi").raw


def test_a_whole_fork_has_every_branch(told: Refold) -> None:
    told("fork", SESSION, "--whole", "--as", "again")
    assert {node["id"] for node in told("tree", "again", "--json").json["nodes"]} == set(ENTRIES)


def test_json_tells_session_parent_leaf_and_entries(told: Refold) -> None:
    assert told("fork", SESSION, "--leaf", "i1", "--as", "again", "--json").json == {
        "session": "again",
        "parent": SESSION,
        "leaf": "i1",
        "entries": 14,
    }
    rooted = told("fork", SESSION, "--leaf", "root", "--as", "rooted", "--json").json
    assert (rooted["leaf"], rooted["entries"]) == (None, 1)


def test_nothing_damaged_is_copied(told: Refold) -> None:
    with tables(told.store) as stored:
        key, value = stored.items("events")[0]
        stored.put("events", key, value.replace(b"Fix the parser.", b"Fix the sparrow"))
    error = told.refused(CorruptionError, "fork", SESSION, "--as", "again")
    assert (error.session, error.seq) == (SESSION, 1)
    assert [each["id"] for each in told("sessions", "--json").json["sessions"]] == [SESSION]


def test_an_audit_of_a_fork_names_the_session_whose_calls_it_leaves_out(told: Refold) -> None:
    told("fork", SESSION, "--as", "again")
    (own,) = told("audit", SESSION, "--json").json["sessions"]
    (forked,) = told("audit", "again", "--json").json["sessions"]
    assert (own["original"], forked["original"]) == (None, SESSION)
    assert forked["cost"]["spent"]["calls"] == 0 < own["cost"]["spent"]["calls"]
    assert SESSION in told("audit", "again").out
