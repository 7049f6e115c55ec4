"""Compose a compaction's records from a plan, its summary and a policy."""

from __future__ import annotations

import pytest

from compaction.composing import Draft, compaction_record, compose_compaction, parts_after
from compaction.cuts import LastMessages, TailTurn
from compaction.part import Limits
from compaction.plan import Plan, plan_compaction
from compaction.policy.model import Restoring
from compaction.summary import Summary
from compaction.triggers import Threshold
from eventstore.event import Parent
from eventstore.records import FileOperations
from projections.context.build import build_context
from projections.context.cursor import resolve_cursor
from projections.tokens import counter
from tests.compaction.scripted import long, policy, turns
from tests.support.events import version
from tests.support.talk import assistant, call, image, result, shell, text, user

TOKENS = counter("utf16/4")
LIMITS = Limits(window=200_000)
FILES = FileOperations(read_files=["a.py"], modified_files=[])


def change(story, chosen, summary="so far", **made):
    """Return the records that a policy would append to a session as it stands."""
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, "s")
        plan = plan_compaction(snapshot, cursor, chosen, limits=LIMITS, tokens=TOKENS)
        assert isinstance(plan, Plan)
        done = Draft(plan=plan, summary=Summary(text=summary), **{"reason": "threshold", **made})
        return compose_compaction(
            snapshot, cursor, done, policy=chosen, limits=LIMITS, tokens=TOKENS, parent=Parent.LEAF
        )


def kinds(found):
    return [record.kind for record in found.records]


def test_composing_appends_nothing(story):
    turns(story, 20, 10)
    before = version(story.log, "s")
    change(story, policy())
    assert version(story.log, "s") == before


def test_a_compaction_alone_is_one_record_with_both_sizes(story):
    turns(story, 20, 10)
    found = change(story, policy(), long(3))
    assert kinds(found) == ["compaction"]
    assert (found.tokens_before, found.tokens_after, found.records[0].tokens_after) == (60, 23, 23)


def test_what_is_appended_makes_a_context_of_just_that_size(story):
    story.says(assistant(call("read", path="a.py")), result("the text", tool="read"))
    turns(story, 30, 10)
    found = change(story, policy(restoring=Restoring(), continuation="auto-continue"), continues=True)
    story.add(*found.records)
    assert sum(TOKENS.count(build_context(story.log, "s").parts)) == found.tokens_after


def test_the_compaction_comes_first_then_what_gives_way_then_what_is_shown_again_then_what_goes_on(story):
    story.says(assistant(call("read", path="a.py")), result("the text", tool="read"))
    turns(story, 20)
    story.says(user([text("what is this?"), image()]))
    found = change(story, policy(restoring=Restoring(), continuation="replay"), continues=True)
    assert kinds(found) == ["compaction", "rewrite", "custom_message", "message"]


@pytest.mark.parametrize("continuation", ["auto-continue", "replay"])
def test_while_calls_are_open_nothing_is_appended_that_stands_between_them_and_their_results(
    story, continuation
):
    story.says(assistant(call("read", path="a.py")), result("the text", tool="read"))
    turns(story, 30, 10)
    story.says(assistant(call("bash", "c1"), call("bash", "c2")), result("one of two", call_id="c1"))
    found = change(story, policy(restoring=Restoring(), continuation=continuation), continues=True)
    assert (kinds(found), found.continued.record) == (["compaction"], None)
    assert "calls" in found.continued.reason
    assert found.records[0].continuation["reason"] == found.continued.reason


def test_calls_are_open_no_more_where_the_person_has_gone_on(story):
    turns(story, 30)
    story.says(assistant(call("bash", "c1")), user([text("what is this?"), image()]))
    found = change(story, policy(continuation="replay"), continues=True)
    assert (kinds(found), found.continued.branch) == (["compaction", "rewrite", "message"], "media")


@pytest.mark.parametrize(
    ("threshold", "files", "size"), [(69, 2, 69), (68, 1, 50), (50, 1, 50), (49, 0, 31), (9, 0, 31)]
)
def test_no_more_is_shown_again_than_what_leaves_a_context_that_is_small_enough(
    story, threshold, files, size
):
    for name in ("a.py", "b.py"):
        story.says(assistant(call("read", path=name)), result(long(12), tool="read"))
    turns(story, 20, 10)
    found = change(story, policy(trigger=Threshold(tokens=threshold), restoring=Restoring()))
    assert (kinds(found), found.tokens_after) == (["compaction", *["custom_message"] * files], size)


def test_what_is_too_large_to_be_kept_is_shown_shorter(story):
    turns(story, 100)
    story.says(user("go"), assistant(call("bash")), result(long(100_000)))
    found = change(story, policy(cut=TailTurn()))
    assert [record.reason for record in found.records[1:]] == ["offload"]
    assert found.tokens_after < 8_000


def test_a_commands_output_that_is_too_large_to_be_kept_is_shown_shorter(story):
    turns(story, 100)
    story.says(shell("cat a.log", long(100_000)))
    found = change(story, policy(cut=TailTurn()))
    assert [record.reason for record in found.records[1:]] == ["offload"]
    assert found.tokens_after < 8_000


def test_nothing_goes_on_unless_it_should(story):
    turns(story, 20, 10)
    found = change(story, policy(continuation="auto-continue"))
    assert (kinds(found), found.continued.branch) == (["compaction"], "none")


def test_a_change_that_makes_the_context_no_smaller_is_no_gain(story):
    turns(story, 20, 10)
    assert change(story, policy(), long(39)).is_gain
    assert not change(story, policy(), long(40)).is_gain


@pytest.mark.parametrize(
    ("reason", "placed", "placement"),
    [
        ("overflow", {"recovery_placement": "reactive-compact"}, "reactive-compact"),
        ("threshold", {"recovery_placement": "reactive-compact"}, "compacted"),
        ("overflow", {"recovery": LastMessages(messages=2)}, "compacted"),
    ],
)
def test_a_summary_stands_where_the_policy_says_for_its_reason(story, reason, placed, placement):
    turns(story, 20, 10)
    found = change(story, policy(placement="compacted", **placed), reason=reason)
    assert found.records[0].placement == placement


def test_a_record_has_its_files_as_fields_and_as_tags():
    made = compaction_record(Summary(text="so far"), files=FILES, first_kept="e1", tokens_before=9)
    assert (made.details, made.summary) == (FILES, "so far\n\n<read-files>\na.py\n</read-files>")


def test_a_record_says_how_its_summary_was_asked_for_and_what_it_lacks():
    summary = Summary(
        text="so far", requests=[{"model": "m", "answer": "so far"}], missing=["Goal"], template="t@1"
    )
    made = compaction_record(summary, files=FILES, first_kept="", tokens_before=9)
    assert made.template == "t@1"
    assert made.request == {
        "requests": [{"model": "m", "answer": "so far"}],
        "model": "m",
        "missingSections": ["Goal"],
    }


def test_the_size_with_records_is_that_of_the_context_at_the_last_of_them(story):
    turns(story, 20, 10)
    with story.log.snapshot() as snapshot:
        more = compaction_record(
            Summary(text=long(5)), files=FileOperations(), first_kept="e3", tokens_before=9
        )
        assert sum(TOKENS.count(parts_after(snapshot, "s", [more]))) == 5 + 20
