from __future__ import annotations

import click

from eventstore.errors import BadInputError, CorruptionError, NotFoundError
from tests.cli.running import Refold
from tests.cli.tale import ENTRIES, SESSION, TITLE
from tests.support.tampering import tables


def context(refold: Refold, *arguments: str) -> bytes:
    return refold("context", *arguments, "--format", "pi").raw


def test_a_fork_shows_the_context_that_it_was_forked_from(told: Refold) -> None:
    told("fork", SESSION, "--as", "again")
    assert context(told, "again") == context(told, SESSION)


def test_a_fork_from_before_a_compaction_shows_the_original(told: Refold) -> None:
    told("fork", SESSION, "--leaf", "s1", "--as", "again")
    assert context(told, "again") == context(told, SESSION, "--leaf", "s1")
    assert len(told("context", "again", "--json").json["messages"]) == 9


def test_a_leaf_may_be_named_by_its_number(told: Refold) -> None:
    told("fork", SESSION, "--leaf", "#3", "--as", "again")
    assert told("tree", "again", "--json").json["leaf"] == "i1"
    assert [node["id"] for node in told("tree", "again", "--json").json["nodes"]] == ["u1", "a1", "r1", "i1"]


def test_a_whole_fork_has_every_branch(told: Refold) -> None:
    told("fork", SESSION, "--whole", "--as", "again")
    assert {node["id"] for node in told("tree", "again", "--json").json["nodes"]} == set(ENTRIES)


def test_a_fork_keeps_title_and_labels(told: Refold) -> None:
    told("fork", SESSION, "--leaf", "u2", "--as", "again")
    listed = told("sessions", "--json").json["sessions"]
    (session,) = (each for each in listed if each["id"] == "again")
    nodes = told("tree", "again", "--json").json["nodes"]
    assert session["title"] == TITLE
    assert next(node["label"] for node in nodes if node["id"] == "u2") == "halfway"


def test_json_tells_session_parent_leaf_and_entries(told: Refold) -> None:
    assert told("fork", SESSION, "--leaf", "i1", "--as", "again", "--json").json == {
        "session": "again",
        "parent": SESSION,
        "leaf": "i1",
        "entries": 14,
    }
    rooted = told("fork", SESSION, "--leaf", "root", "--as", "rooted", "--json").json
    assert (rooted["leaf"], rooted["entries"]) == (None, 1)


def test_without_a_name_a_fork_is_called_by_a_new_id(told: Refold) -> None:
    new = told("fork", SESSION, "--json").json["session"]
    assert told("tree", new, "--json").json["leaf"] == "i1"


def test_a_link_says_where_a_fork_comes_from(told: Refold) -> None:
    told("fork", SESSION, "--leaf", "a3", "--as", "again")
    link = told("show", "again", "#1", "--json").json
    assert link["record"] == {"type": "link", "relation": "fork", "session": SESSION, "event": "a3"}


def test_a_fork_can_be_taken_to_pi(told: Refold) -> None:
    told("fork", SESSION, "--as", "again")
    told("export", "again", "--format", "pi", "-o", "again.jsonl")
    told("sync", "again.jsonl", "--as", "back")
    assert context(told, "back") == context(told, SESSION)


def test_a_name_that_it_cannot_have_is_reported_and_nothing_is_stored(told: Refold) -> None:
    for name in (SESSION, "@again", "a\nb"):
        assert told.refused(BadInputError, "fork", SESSION, "--as", name).source == f"session {name!r}"
    assert len(told("sessions", "--json").json["sessions"]) == 1


def test_a_whole_session_and_a_leaf_exclude_each_other(told: Refold) -> None:
    told.refused(click.UsageError, "fork", SESSION, "--whole", "--leaf", "a3", code=2)


def test_a_leaf_that_is_not_there_is_reported(told: Refold) -> None:
    error = told.refused(NotFoundError, "fork", SESSION, "--leaf", "nope")
    assert (error.what, error.name) == ("event", "nope")


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
