from __future__ import annotations

import json

import pytest

from cli.demo.stage import Stage
from cli.demo.tools import bash, read
from eventstore import EventLog
from eventstore.event import Event
from eventstore.frame import decode

SESSION = "s"


@pytest.fixture
def stage(store: EventLog) -> Stage:
    stage = Stage(store, SESSION, {"a.py": "text"})
    stage.uses("claude-opus-4-5")
    return stage


def events(log: EventLog) -> list[Event]:
    with log.snapshot() as snapshot:
        return [decode(frame, SESSION) for frame in snapshot.frames(SESSION)]


def test_the_clock_goes_by_what_is_said_and_done(stage: Stage, store: EventLog) -> None:
    stage.person("One.", after=60)
    stage.person("Two.", after=600)
    *_, one, two = events(store)
    assert one.time is not None
    assert two.time is not None
    assert 600_000 <= two.time - one.time < 601_000


def test_calls_are_answered_in_order_each_after_its_time(stage: Stage, store: EventLog) -> None:
    stage.person("Look.")
    stage.agent(read("a.py"), bash("true", "done", seconds=9))
    answer, first, second = events(store)[-3:]
    calls = [block["id"] for block in json.loads(answer.message)["content"]]
    results = [json.loads(event.message) for event in (first, second)]
    assert [result["toolCallId"] for result in results] == calls
    assert [result["content"][0]["text"] for result in results] == ["text", "done"]
    assert results[1]["timestamp"] - results[0]["timestamp"] >= 9_000


def test_the_harness_looks_at_the_context_when_a_turn_is_over(stage: Stage, store: EventLog) -> None:
    stage.person("Look.")
    stage.agent(read("a.py"))
    assert events(store)[-1].kind == "message"
    stage.agent(text="It says text.")
    assert events(store)[-1].kind == "decision"


def test_a_branch_that_is_given_up_leaves_its_summary_where_one_goes_back_to(
    stage: Stage, store: EventLog
) -> None:
    stage.person("One way.")
    here = stage.agent(text="So it is.")
    stage.person("Another way.")
    stage.agent(text="It leads nowhere.")
    stage.gives_up_for(here)
    last = events(store)[-1]
    assert (last.kind, last.parent) == ("branch_summary", here)


def test_one_can_stand_elsewhere_and_come_back(stage: Stage) -> None:
    there = stage.person("One.")
    stage.agent(text="Two.")
    here = stage.leaf()
    stage.moves(there)
    assert stage.leaf() != here
    stage.moves(here)
    stage.person("Three.")
    assert stage.leaf() != here


def test_ids_are_counted_and_none_comes_twice(stage: Stage, store: EventLog) -> None:
    for number in range(20):
        stage.person(f"{number}.")
    ids = [event.id for event in events(store)]
    assert len(set(ids)) == len(ids)
    assert ids != sorted(ids)
