from __future__ import annotations

import json

from cli.demo import harness
from eventstore import EventLog, SessionWriter
from eventstore.frame import decode
from tests.support.talk import assistant, user


def kinds(log: EventLog) -> list[str]:
    with log.snapshot() as snapshot:
        return [decode(frame, "s").kind for frame in snapshot.frames("s")]


def body(log: EventLog, kind: str) -> dict[str, object]:
    with log.snapshot() as snapshot:
        events = [decode(frame, "s") for frame in snapshot.frames("s")]
    found: dict[str, object] = json.loads(next(event.body for event in events if event.kind == kind))
    return found


def test_a_small_context_is_left_alone_and_the_log_says_why(store: EventLog) -> None:
    writer = SessionWriter(store, "s")
    writer.message(user("Hello."))
    writer.message(assistant("Hello."))
    assert not harness.maintainer(lambda: 0).after_turn(writer).history_rewritten
    assert kinds(store) == ["message", "message", "decision"]


def test_a_large_one_is_compacted_without_a_model(store: EventLog) -> None:
    writer = SessionWriter(store, "s")
    writer.message(user("Read it all. " + "x " * 60_000))
    writer.message(assistant("I have."))
    advice = harness.maintainer(lambda: 0).after_turn(writer)
    assert advice.history_rewritten
    record = body(store, "compaction")
    assert (record["policy"], record["reason"]) == ("frugal", "threshold")


def test_a_branch_that_is_left_is_summarized_if_one_wants_it(store: EventLog) -> None:
    writer = SessionWriter(store, "s")
    first = writer.message(user("One way."))
    writer.message(assistant("It led nowhere."))
    harness.navigator(summarizes=True).go(writer, first)
    assert kinds(store)[-1] == "branch_summary"


def test_without_a_summary_one_only_stands_elsewhere(store: EventLog) -> None:
    writer = SessionWriter(store, "s")
    writer.message(user("Where?"))
    there = writer.message(assistant("Here."))
    writer.message(user("And now?"))
    harness.navigator(summarizes=False).go(writer, there)
    assert kinds(store)[-1] == "leaf_moved"
