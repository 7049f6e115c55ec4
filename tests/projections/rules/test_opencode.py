"""Contexts of opencode's sessions are what it sent, as of every record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from eventstore.paths import events
from projections.audit.session import audit
from projections.context.build import build_context, context_at, context_json, harness_json
from projections.context.cursor import path, resolve_cursor
from projections.context.incremental import IncrementalContexts
from projections.rules.opencode import REMINDER
from projections.tree import tree
from tests.support.opencode import SESSION, START, Database, sent_of_export

Json = dict[str, Any]
Shown = Callable[..., list[str]]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    made = Database(tmp_path)
    made.begin()
    return made


def imported(database: Database) -> MemoryLog:
    log = MemoryLog()
    import_sessions(log, database.path)
    return log


def sent(log: MemoryLog, session: str = SESSION, **at: Any) -> list[Json]:
    """Return the messages of a context, by each way to build it."""
    context = build_context(log, session, **at)
    assert harness_json(context) == context_json(log, session, **at)
    return [json.loads(part.raw) for part in context.parts]


def texts(log: MemoryLog, **at: Any) -> list[str]:
    return [_text(message["content"]) for message in sent(log, **at)]


def _text(content: list[Json]) -> str:
    return "|".join(
        str(each.get("text") or each.get("output", {}).get("value") or each["type"]) for each in content
    )


def check_along(log: MemoryLog, session: str = SESSION) -> None:
    """Check that contexts along the path are those built one by one."""
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        along = IncrementalContexts(snapshot, cursor, path(snapshot, cursor))
        for entry in path(snapshot, cursor):
            assert along.context_at(entry.seq).parts == context_at(snapshot, cursor.at_leaf(entry.seq)).parts


def test_contexts_are_those_of_a_plain_fold(corpus: Path) -> None:
    for file in sorted(corpus.glob("opencode/*.json")):
        log = MemoryLog()
        (found,) = import_sessions(log, file)
        messages = json.loads(file.read_bytes())["messages"]
        assert sent(log, found.id) == sent_of_export(messages)
        for count, message in enumerate(messages[:-1], 1):
            info = message["info"]
            if any(part["type"] == "compaction" for part in message["parts"]):
                continue  # No request ends with the question that a summary answers.
            shown = sent(log, found.id, leaf=info["id"])
            assert shown == sent_of_export(messages[:count], info["time"]["created"])


def test_contexts_along_real_paths_agree(corpus: Path) -> None:
    for file in sorted(corpus.glob("opencode/*.json")):
        log = MemoryLog()
        (found,) = import_sessions(log, file)
        check_along(log, found.id)


def test_newer_parts_show_from_their_record(database: Database) -> None:
    database.ask("msg_1", "old")
    database.part("msg_1", "prt_msg_1", type="text", text="new")
    log = imported(database)
    assert [texts(log, as_of=as_of) for as_of in (2, 3, 4, None)] == [[], ["old"], ["new"], ["new"]]


def test_calls_show_once_they_end(database: Database) -> None:
    database.ask("msg_1", "go")
    database.message("msg_2", "assistant")
    for status in ("pending", "running", "completed"):
        database.call("msg_2", "prt_2", status)
    log = imported(database)
    assert texts(log) == ["go", "tool-call", "output of prt_2"]
    assert texts(log, as_of=6) == ["go"]


def test_calls_that_never_ended_were_interrupted(database: Database) -> None:
    database.ask("msg_1", "go")
    database.message("msg_2", "assistant")
    database.call("msg_2", "prt_2", "running")
    database.ask("msg_3", "on")
    assert texts(imported(database)) == ["go", "tool-call", "[Tool execution was interrupted]", "on"]
    check_along(imported(database))


def test_steps_are_messages(database: Database) -> None:
    database.ask("msg_1", "go")
    database.message("msg_2", "assistant")
    for step in (1, 2):
        database.part("msg_2", f"prt_{step}0", type="step-start")
        database.call("msg_2", f"prt_{step}1")
        database.part("msg_2", f"prt_{step}2", type="text", text=f"said {step}", time={"start": 1, "end": 2})
    answered = ["tool-call|said 1", "output of prt_11", "tool-call|said 2", "output of prt_21"]
    assert texts(imported(database)) == ["go", *answered]


def test_a_compaction_keeps_its_tail(database: Database) -> None:
    for turn in ("1", "2"):
        database.ask(f"msg_{turn}0", f"ask {turn}")
        database.answer(f"msg_{turn}1", f"answer {turn}")
    database.compact("msg_30", "msg_31", "summary", tail="msg_20")
    database.ask("msg_40", "on")
    log = imported(database)
    assert texts(log) == ["What did we do so far?", "summary", "ask 2", "answer 2", "on"]
    check_along(log)
    (compaction,) = audit(log, SESSION).compactions
    assert (compaction.messages.summarized, compaction.messages.kept, compaction.uncovered) == (2, 2, [])


def test_a_compaction_without_a_tail_keeps_nothing(database: Database) -> None:
    database.ask("msg_10", "ask")
    database.answer("msg_11", "answer")
    database.compact("msg_30", "msg_31", "summary")
    database.ask("msg_40", "on")
    assert texts(imported(database)) == ["What did we do so far?", "summary", "on"]


def test_older_releases_sent_the_tail_first(tmp_path: Path) -> None:
    database = Database(tmp_path)
    database.begin(version="1.14.34")
    for turn in ("1", "2"):
        database.ask(f"msg_{turn}0", f"ask {turn}")
        database.answer(f"msg_{turn}1", f"answer {turn}")
    database.compact("msg_30", "msg_31", "summary", tail="msg_20")
    log = imported(database)
    assert texts(log) == ["ask 2", "answer 2", "What did we do so far?", "summary"]
    check_along(log)


def test_a_tail_may_hold_an_older_summary(database: Database) -> None:
    for turn in ("1", "2"):
        database.ask(f"msg_{turn}0", f"ask {turn}")
        database.answer(f"msg_{turn}1", f"answer {turn}")
    database.compact("msg_30", "msg_31", "summary 1", tail="msg_20")
    database.ask("msg_40", "on")
    database.compact("msg_50", "msg_51", "summary 2", tail="msg_20")
    question = "What did we do so far?"
    tail = ["ask 2", "answer 2", question, "summary 1", "on"]
    assert texts(imported(database)) == [question, "summary 2", *tail]
    check_along(imported(database))


def test_a_failed_compaction_leaves_its_question(database: Database) -> None:
    database.ask("msg_10", "ask")
    database.message("msg_20", "user")
    database.part("msg_20", "prt_20", type="compaction", auto=True)
    database.message("msg_21", "assistant", summary=True, parentID="msg_20", error={"name": "APIError"})
    database.ask("msg_30", "on")
    assert texts(imported(database)) == ["ask", "What did we do so far?", "on"]


def test_a_cleared_result_was_there_before(database: Database) -> None:
    database.ask("msg_1", "go")
    database.message("msg_2", "assistant")
    database.call("msg_2", "prt_2")
    database.call("msg_2", "prt_2", time={"compacted": START})
    database.ask("msg_3", "on")
    log = imported(database)
    assert texts(log) == ["go", "tool-call", "[Old tool result content cleared]", "on"]
    assert texts(log, leaf=f"evt_{SESSION}_4") == ["go", "tool-call", "output of prt_2"]
    check_along(log)


def test_messages_taken_back_are_a_branch(database: Database) -> None:
    database.ask("msg_1", "first")
    database.answer("msg_2", "answer")
    database.ask("msg_3", "second")
    database.answer("msg_4", "answer 2")
    for name in ("msg_3", "msg_4"):
        database.event("message.removed.1", {"messageID": name})
    log = imported(database)
    assert texts(log) == ["first", "answer"]
    database.ask("msg_5", "other")
    log = imported(database)
    assert texts(log) == ["first", "answer", "other"]
    assert texts(log, as_of=10)[-1] == "answer 2"
    assert tree(log, SESSION).ends == 2
    check_along(log)


def test_all_messages_can_be_taken_back(database: Database) -> None:
    database.ask("msg_1", "first")
    database.answer("msg_2", "answer")
    for name in ("msg_1", "msg_2"):
        database.event("message.removed.1", {"messageID": name})
    log = imported(database)
    assert (texts(log), texts(log, as_of=5)) == ([], ["first", "answer"])
    database.ask("msg_3", "other")
    assert texts(imported(database)) == ["other"]


def test_a_compaction_taken_back_hides_nothing(database: Database) -> None:
    database.ask("msg_1", "first")
    database.compact("msg_2", "msg_3", "summary")
    for name in ("msg_2", "msg_3"):
        database.event("message.removed.1", {"messageID": name})
    database.ask("msg_5", "other")
    assert texts(imported(database)) == ["first", "other"]


def test_one_message_removed_is_not_sent(database: Database) -> None:
    database.ask("msg_1", "first")
    database.answer("msg_2", "answer")
    database.ask("msg_3", "second")
    database.event("message.removed.1", {"messageID": "msg_2"})
    database.event("message.part.removed.1", {"messageID": "msg_1", "partID": "prt_msg_1"})
    log = imported(database)
    assert texts(log) == ["second"]
    assert texts(log, as_of=8) == ["first", "answer", "second"]


@pytest.mark.parametrize(("error", "shown"), [("APIError", []), ("MessageAbortedError", ["half"])])
def test_answers_that_failed(database: Database, error: str, shown: list[str]) -> None:
    database.ask("msg_1", "go")
    database.message("msg_2", "assistant")
    database.part("msg_2", "prt_2", type="text", text="half", time={"start": 1, "end": 2})
    database.message("msg_2", "assistant", error={"name": error})
    assert texts(imported(database)) == ["go", *shown]


def test_thoughts_of_another_model_are_texts(database: Database) -> None:
    database.ask("msg_1", "go")
    database.message("msg_2", "assistant")
    database.part(
        "msg_2", "prt_2", type="reasoning", text="hm", metadata={"lab": {"signature": "s"}}, time={"end": 1}
    )
    thought = {"type": "reasoning", "text": "hm", "providerOptions": {"lab": {"signature": "s"}}}
    assert sent(imported(database))[1]["content"] == [thought]
    database.ask("msg_3", "on", model={"providerID": "lab", "modelID": "two"})
    log = imported(database)
    assert sent(log)[1]["content"] == [{"type": "text", "text": "hm"}]
    check_along(log)


def test_a_reminder_of_the_plan_is_a_gap(database: Database) -> None:
    for name, agent in (("msg_1", "build"), ("msg_2", "plan"), ("msg_3", "build"), ("msg_4", "build")):
        database.ask(name, "go", agent=agent)
    gaps = audit(imported(database), SESSION).gaps
    assert [gap.event for gap in gaps if gap.what == REMINDER] == [f"evt_{SESSION}_4", f"evt_{SESSION}_6"]


def test_a_message_counts_its_tokens_once(database: Database) -> None:
    database.ask("msg_1", "go")
    database.message("msg_2", "assistant")
    database.part("msg_2", "prt_2", type="text", text="said", time={"start": 1, "end": 2})
    database.call("msg_2", "prt_3")
    tokens = {"input": 5, "output": 3, "reasoning": 2, "cache": {"read": 10, "write": 0}}
    database.part("msg_2", "prt_4", type="step-finish", tokens=tokens, cost=0.5)
    found = audit(imported(database), SESSION)
    assert found.cost is not None
    assert (found.cost.spent.calls, found.cost.spent.recorded) == (1, 0.5)


def test_every_event_has_its_time(database: Database) -> None:
    database.ask("msg_1", "go")
    with imported(database).snapshot() as snapshot:
        times = [each.time for each in events(snapshot, SESSION) if not each.is_own]
    assert times[1:] == [START + 1000, START + 1000]
