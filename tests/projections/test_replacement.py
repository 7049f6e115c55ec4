"""Find the messages that compactions, branch summaries and rewrites replaced."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from eventstore.memory import MemoryLog
from eventstore.records import (
    BranchSummary,
    Compaction,
    CustomMessage,
    Label,
    MessageRecord,
    Rewrite,
    TextReplacement,
)
from projections.context.cursor import path, resolve_cursor
from projections.replacement import Replacement, replacement_of
from tests.support.events import NOW
from tests.support.examples import examples
from tests.support.native import native_events
from tests.support.talk import assistant, result, user

REPLACING = ("compaction", "branch_summary", "rewrite")


def replacements(log, session="s"):
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        entries = path(snapshot, cursor)
        return [
            replacement_of(event, snapshot, cursor, earlier=entries[:place], later=entries[place + 1 :])
            for place, event in enumerate(entries)
            if event.kind in REPLACING
        ]


def ids(parts):
    return [part.id for part in parts]


def compaction(first_kept):
    return Compaction(summary="what was before", first_kept_entry_id=first_kept, tokens_before=9)


def test_a_compaction_removes_what_is_before_the_first_kept_and_adds_its_summary(story):
    story.says(user("one"), assistant("two"), user("three"))
    story.add(compaction("e3"))
    (only,) = replacements(story.log)
    assert (ids(only.removed), ids(only.kept), ids(only.added)) == (["e1", "e2"], ["e3"], ["e4"])


def test_a_second_compaction_removes_the_summary_of_the_first(story):
    story.says(user("one"), assistant("two"))
    story.add(compaction("e2"))
    story.says(user("four"))
    story.add(compaction("e4"))
    assert ids(replacements(story.log)[1].removed) == ["e3", "e2"]


def test_messages_that_only_an_older_summary_stood_for_return(story):
    story.says(user("one"), assistant("two"), user("three"))
    story.add(compaction("e3"))
    story.add(compaction("e2"))
    second = replacements(story.log)[1]
    assert (ids(second.returned), ids(second.kept), ids(second.added)) == (["e2"], ["e3"], ["e5"])


def test_what_was_appended_with_a_compaction_is_of_the_context_after_and_stands_in_place_of_the_removed(
    story,
):
    story.says(user("one"), assistant("two"), user("three"), user("four"))
    cut = Rewrite(reason="offload", targets=[TextReplacement(target="e3", text="3")])
    again = CustomMessage(custom_type="restored_file", content="a file")
    story.add(compaction("e3"), cut, Label(target_id="e1", label="x"), again, cause="once")
    only = replacements(story.log)[0]
    assert (ids(only.removed), ids(only.kept)) == (["e1", "e2", "e3"], ["e4"])
    assert (ids(only.added), ids(only.restored), only.returned) == (["e5", "e3"], ["e8"], ())


def test_a_rewrite_that_was_appended_with_others_is_measured_by_itself(story):
    story.says(result("long"), result("long, too"))
    cuts = [
        Rewrite(reason="prune", targets=[TextReplacement(target=each, text="x")]) for each in ("e1", "e2")
    ]
    story.add(*cuts, cause="once")
    assert [ids(each.added) for each in replacements(story.log)] == [["e1"], ["e2"]]


@pytest.mark.parametrize(
    ("behind", "cause"),
    [
        (CustomMessage(custom_type="x", content="later"), "another"),
        (CustomMessage(custom_type="x", content="later"), ""),
        (Compaction(summary="again", first_kept_entry_id="e2", tokens_before=9), "once"),
    ],
)
def test_what_came_behind_a_compactions_append_is_not_of_the_context_after(story, behind, cause):
    story.says(user("one"), user("two"))
    story.add(compaction("e2"), cause="once")
    story.add(behind, cause=cause)
    assert ids(replacements(story.log)[0].after.parts) == ["e3", "e2"]


def test_without_a_cause_a_compaction_was_appended_alone(story):
    story.says(user("one"), user("two"))
    story.add(compaction("e2"))
    story.says(user("later"))
    assert ids(replacements(story.log)[0].after.parts) == ["e3", "e2"]


def test_the_models_next_answer_is_not_of_the_context_after(story):
    story.says(user("one"), user("two"))
    answer = MessageRecord(message=msgspec.Raw(msgspec.json.encode(assistant("done"))))
    story.add(compaction("e2"), answer, cause="once")
    assert ids(replacements(story.log)[0].after.parts) == ["e3", "e2"]


def test_a_rewrite_removes_a_message_and_adds_it_as_it_is_shown(story):
    story.says(user("one"), result("long"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e2", text="cut")]))
    (only,) = replacements(story.log)
    assert [(part.id, b"long" in part.raw) for part in (*only.removed, *only.added)] == [
        ("e2", True),
        ("e2", False),
    ]


def test_a_rewrite_that_shows_the_same_replaces_nothing(story):
    story.says(result("same"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="x")]))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="x")]))
    again = replacements(story.log)[1]
    assert (again.removed, again.added) == ((), ())


def test_a_branch_summary_replaces_the_branch_that_was_left(story):
    story.says(user("one"), assistant("two"), user("three"))
    story.add(BranchSummary(from_id="e1", summary="went nowhere", left="e3"), parent="e1")
    (only,) = replacements(story.log)
    assert (ids(only.removed), ids(only.kept), ids(only.added)) == (["e2", "e3"], ["e1"], ["e4"])


def test_the_summary_is_the_message_of_the_event_itself(story):
    story.says(user("one"))
    story.add(compaction("e1"))
    (only,) = replacements(story.log)
    assert only.summary is not None
    assert only.summary.id == "e2"


def test_a_rewrite_has_no_summary(story):
    story.says(result("long"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="cut")]))
    assert replacements(story.log)[0].summary is None


def test_a_summary_that_shows_nothing_is_none(story):
    story.says(user("one"), user("two"))
    story.add(BranchSummary(from_id="e1", summary="", left="e2"), parent="e1")
    assert replacements(story.log)[0].summary is None


def told(replacement: Replacement) -> tuple[list[str], list[str]]:
    before = ids(replacement.removed) + ids(replacement.kept)
    return before, ids(replacement.kept) + ids(replacement.added) + ids(replacement.returned)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(appended=native_events())
def test_removed_and_kept_are_the_context_before_and_kept_added_and_returned_the_one_after(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    for each in replacements(log):
        before, after = told(each)
        assert sorted(before) == sorted(ids(each.before.parts))
        assert sorted(after) == sorted(ids(each.after.parts))
