"""Describe an event in a few words."""

from __future__ import annotations

import pytest

from eventstore.records import (
    Attempt,
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Decision,
    Label,
    LeafMoved,
    Link,
    ModelChange,
    Note,
    Rewrite,
    SessionInfo,
    TextReplacement,
    ThinkingLevelChange,
    Undone,
)
from projections.descriptions import event_name, summary_line
from tests.support.events import events, stored
from tests.support.talk import assistant, call, image, result, shell, text, thinking, user


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (user("hello"), "hello"),
        (user([text(""), text("the first that says something"), text("x")]), "the first that says something"),
        (user([image(), text("look")]), "[1 image] look"),
        (user([image(), image()]), "[2 images] "),
        (user([]), ""),
        (assistant(thinking("hm"), "an answer"), "an answer"),
        (assistant(thinking("hm")), "hm"),
        (assistant(stop="aborted"), "aborted"),
        (assistant("I read", call("read", path="a.py")), "→ read a.py"),
        (assistant(call("bash", command="make\n  -j2"), call("ls")), "→ bash make -j2, ls"),
        (assistant(call("read", path="x/" * 90)), f"→ read {'x/' * 90}"),
        (assistant(call("bash", command=f"cat {'x/' * 90} b.py")), f"→ bash cat {'x/' * 90}"),
        (assistant(call("read", path=7)), "→ read"),
        (result("done"), "← bash: done"),
        (result("no such file", tool="read", is_error=True), "✗ read: no such file"),
        (result(image(), tool="read"), "← read: [1 image] "),
        (shell("make", "done"), "! make"),
    ],
)
def test_a_message_is_told_by_what_it_says_or_does(story, message, line):
    (said,) = story.says(message)
    assert summary_line(story[said]) == line


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (Compaction(summary="all of it", first_kept_entry_id="e1", tokens_before=9), "∑ all of it"),
        (BranchSummary(from_id="root", summary="tried"), "∑ tried"),
        (CustomMessage(custom_type="x", content="by the way"), "by the way"),
        (ModelChange(provider="p", model_id="m"), "p m"),
        (ThinkingLevelChange(thinking_level="high"), "high"),
        (Label(target_id="e1", label="here"), "e1 here"),
        (Label(target_id="e1"), "e1"),
        (SessionInfo(name="a title"), "a title"),
        (SessionInfo(), ""),
        (Custom(custom_type="state", data={"a": 1}), "state"),
        (Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="")]), "prune"),
        (LeafMoved(from_id="e3"), "e3"),
        (Undone(target_id="e2"), "e2"),
        (
            Attempt(request={"requests": [{"summarizer": "a"}, {"summarizer": "http"}]}, error="no answer"),
            "http: no answer",
        ),
        (Attempt(request={"summarizer": "http"}, error="cancelled"), "http: cancelled"),
        (Attempt(request={"requests": 5}, error="no answer"), "no answer"),
        (Decision(outcome="no-gain", reason="it would grow", policy="pi"), "pi no-gain it would grow"),
        (Link(relation="fork", session="other"), "fork other"),
        (Note(target_id="e1", data={"usage": 5}), "e1"),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_a_record_is_told_by_what_it_is_about(story, record, line):
    assert summary_line(story[story.add(record)]) == line


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"kind": "label", "targetId": "a1", "label": None}, "a1"),
        ({"kind": "session_info", "name": None}, ""),
        ({"kind": "model_change", "provider": None, "modelId": "m"}, "m"),
        ({"kind": "novelty", "name": "x"}, ""),
    ],
)
def test_what_a_record_does_not_say_is_not_told(store, tmp_path, pi, fields, line):
    pi.entry("a1", **fields)
    assert summary_line(stored(store, pi.store_in(store, tmp_path), "a1")) == line


def test_an_import_is_told_by_its_format_and_its_records(store, tmp_path, pi):
    pi.says("a1", user("hello"))
    assert summary_line(events(store, pi.store_in(store, tmp_path))[-1]) == "pi/3 1"


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (Compaction(summary="all of it", first_kept_entry_id="", tokens_before=9), "compaction"),
        (CustomMessage(custom_type="x", content="by the way"), "custom_message"),
        (CustomMessage(custom_type="compaction_continue", content="go on"), "continuation"),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_an_event_is_called_by_its_kind_unless_it_goes_on_after_a_compaction(story, record, name):
    assert event_name(story[story.add(record)]) == name


@pytest.mark.parametrize(
    ("message", "name"),
    [(user("hello"), "user"), (result("done"), "toolResult"), (user("[Resuming] hello"), "continuation")],
)
def test_a_message_is_called_by_its_role_unless_it_goes_on_after_a_compaction(story, message, name):
    (said,) = story.says(message)
    assert event_name(story[said]) == name
