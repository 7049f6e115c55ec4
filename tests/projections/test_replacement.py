"""What compactions, branch summaries and rewrites put in place of what."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from eventstore.memory_log import MemoryLog
from eventstore.records import BranchSummary, Compaction, Rewrite, Shown
from projections.replacement import Replacement, replacement_of
from projections.standpoint import path, stand
from tests.support.events import NOW
from tests.support.native import native_events
from tests.support.talk import assistant, result, user

REPLACING = ("compaction", "branch_summary", "rewrite")


def replacements(log, session="s"):
    with log.snapshot() as snapshot:
        at = stand(snapshot, session)
        entries = path(snapshot, at)
        return [
            replacement_of(event, snapshot, at, earlier=entries[:place], later=entries[place + 1 :])
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


def test_a_rewrite_removes_a_message_and_adds_it_as_it_is_shown(story):
    story.says(user("one"), result("long"))
    story.add(Rewrite(reason="prune", targets=[Shown(target="e2", shown="cut")]))
    (only,) = replacements(story.log)
    assert [(part.id, b"long" in part.raw) for part in (*only.removed, *only.added)] == [
        ("e2", True),
        ("e2", False),
    ]


def test_a_rewrite_that_shows_the_same_replaces_nothing(story):
    story.says(result("same"))
    story.add(Rewrite(reason="prune", targets=[Shown(target="e1", shown="x")]))
    story.add(Rewrite(reason="prune", targets=[Shown(target="e1", shown="x")]))
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
    story.add(Rewrite(reason="prune", targets=[Shown(target="e1", shown="cut")]))
    assert replacements(story.log)[0].summary is None


def test_a_summary_that_shows_nothing_is_none(story):
    story.says(user("one"), user("two"))
    story.add(BranchSummary(from_id="e1", summary="", left="e2"), parent="e1")
    assert replacements(story.log)[0].summary is None


def told(replacement: Replacement) -> tuple[list[str], list[str]]:
    before = ids(replacement.removed) + ids(replacement.kept)
    return before, ids(replacement.kept) + ids(replacement.added) + ids(replacement.returned)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(appended=native_events())
def test_removed_and_kept_are_the_context_before_and_kept_added_and_returned_the_one_after(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    for each in replacements(log):
        before, after = told(each)
        assert sorted(before) == sorted(ids(each.before.parts))
        assert sorted(after) == sorted(ids(each.after.parts))
