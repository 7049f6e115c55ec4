"""Rewrites: what they save is what the context shrinks by; a policy's are carried out one upon the other."""

from __future__ import annotations

import re
from threading import Thread

import pytest

from compaction.composing import record_compaction
from compaction.prompts import serialize
from compaction.rewrites import Mask, Micro, Snip
from compaction.rewriting import record_rewrite, record_rewrites
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.records import CustomMessage, Link, TextReplacement, Undone, record_of
from eventstore.views import shell_text
from eventstore.writing import SessionWriter
from projections.context.build import build_context, context_json
from projections.context.parts import view_of_part
from projections.requests.anthropic import render
from projections.tokens import counter
from tests.compaction.rewrites.contexts import calls
from tests.compaction.scripted import long
from tests.support import sentences
from tests.support.events import version
from tests.support.talk import assistant, call, image, result, shell, texts_of, user

TOKENS = counter("utf16/4")


def carried_out(story, *parts, **options):
    return record_rewrites(story.writer, parts, tokens=TOKENS, **options).events


def size(story):
    return sum(TOKENS.count(build_context(story.log, "s").parts))


def test_each_rewrite_is_an_entry_that_says_what_it_saved(story):
    calls(story, *[100] * 4)
    before = size(story)
    (entry,) = carried_out(story, Micro())
    record = record_of("rewrite", story[entry].body)
    assert (record.reason, record.tokens_saved) == ("micro", before - size(story))


def test_what_was_appended_is_given_with_its_ids(story):
    calls(story, *[100] * 4)
    done = record_rewrites(story.writer, [Micro()], tokens=TOKENS)
    assert [record_of("rewrite", story[event].body) for event in done.events] == done.records


def test_a_rewrite_that_changes_nothing_is_no_entry(story):
    calls(story, 100)
    assert carried_out(story, Micro(), Mask()) == []


def test_what_one_rewrite_showed_the_next_does_not_show_again(story):
    calls(story, *[100] * 12)
    made = carried_out(story, Mask(), Micro())
    targets = [{shown.target for shown in record_of("rewrite", story[entry].body).targets} for entry in made]
    assert targets[0] & targets[1] == set()


def test_the_rewrites_of_one_time_are_undone_as_one(story):
    calls(story, *[100] * 12)
    before = context_json(story.log, "s")
    made = carried_out(story, Mask(), Micro())
    story.add(Undone(target_id=made[0]))
    assert (len(made), context_json(story.log, "s")) == (2, before)


def test_the_time_since_the_last_entry_counts_as_idle(story):
    calls(story, *[100] * 4)
    by_time = Micro(after_minutes=60)
    assert carried_out(story, by_time, now=8_000) == []
    assert len(carried_out(story, by_time, now=3_700_000)) == 1


def test_the_session_of_a_subagent_is_not_snipped(story):
    story.add(Link(relation="subagent", session="parent"))
    story.says(*(user(f"message {number}") for number in range(60)))
    assert carried_out(story, Snip()) == []


def test_rewrites_are_planned_anew_where_somebody_appends_in_the_meantime(story, interrupt):
    calls(story, *[100] * 4)
    (entry,) = carried_out(interrupt(story), Micro())
    assert story[entry].parent == "theirs"


def test_rewrites_are_appended_in_the_end_however_often_somebody_is_faster(story):
    calls(story, *[100] * 4)
    new_id, others = story.writer._new_id, SessionWriter(story.log, "s")
    said = []

    def overtaken_twenty_times():
        if len(said) < 20:
            said.append(others.message(user("me first")))
        return new_id()

    story.writer._new_id = overtaken_twenty_times
    (entry,) = carried_out(story, Micro())
    assert story[entry].parent == said[-1]


def test_nothing_is_rewritten_twice_where_somebody_else_is_faster_with_the_same(story):
    calls(story, *[100] * 4)
    new_id, others = story.writer._new_id, SessionWriter(story.log, "s")

    def overtaken():
        record_rewrites(others, [Micro()], tokens=TOKENS)
        return new_id()

    story.writer._new_id = overtaken
    assert carried_out(story, Micro()) == []


def test_rewrites_and_another_writer_in_a_thread_of_its_own_both_get_through(story):
    calls(story, *[100] * 4)
    others = SessionWriter(story.log, "s")
    writing = Thread(target=lambda: [others.message(user("me too")) for _ in range(50)])
    writing.start()
    made = carried_out(story, Micro())
    writing.join()
    assert len(made) == 1
    assert texts_of(build_context(story.log, "s")).count("me too") == 50


def test_two_rewrites_that_would_show_each_others_notices_come_to_rest(story):
    calls(story, *[100] * 12)
    parts = (Mask(keep_observations=0), Micro(keep=0, shortest=0))
    assert len(carried_out(story, *parts)) >= 1
    assert carried_out(story, *parts) == []


def rewrite(story, *targets, reason="prune"):
    """Record a rewrite, and give its record."""
    return record_of("rewrite", story[record_rewrite(story.writer, targets=targets, reason=reason)].body)


def test_a_rewrite_shows_its_text_from_here_on(story):
    (target,) = story.says(user("long"))
    rewrite(story, TextReplacement(target=target, text="short"))
    assert texts_of(build_context(story.log, "s")) == ["short"]


def test_a_rewrite_says_why_and_of_what(story):
    (target,) = story.says(user("long"))
    shown = TextReplacement(target=target, text="short")
    record = rewrite(story, shown, reason="supersede")
    assert (record.reason, record.targets) == ("supersede", [shown])


@pytest.mark.parametrize(
    ("message", "block", "saved"),
    [
        (user(long(10)), None, 9),
        (result(long(10), long(5)), 1, 4),
        (result(long(10), long(5)), None, 14),
        (result(long(10), image()), 1, 1199),
        (assistant(long(10), call("bash", command=long(5))), 0, 9),
        (user("x"), None, 0),
    ],
)
def test_the_tokens_saved_are_what_the_context_shrinks_by(story, message, block, saved):
    (target,) = story.says(message)
    before = size(story)
    record = rewrite(story, TextReplacement(target=target, text=long(1), block=block))
    assert record.tokens_saved == before - size(story) == saved


def test_the_tokens_saved_by_several_targets_add_up(story):
    one, two = story.says(result(long(10), long(10)), user(long(10)))
    before = size(story)
    targets = [
        TextReplacement(target=one, text="", block=0),
        TextReplacement(target=two, text=long(4)),
        TextReplacement(target=one, text="", block=1),
    ]
    assert rewrite(story, *targets).tokens_saved == before - size(story) == 26


def test_a_rewrite_of_a_rewrite_saves_what_is_saved_on_top(story):
    (target,) = story.says(user(long(10)))
    rewrite(story, TextReplacement(target=target, text=long(4)))
    before = size(story)
    assert (
        rewrite(story, TextReplacement(target=target, text=long(1))).tokens_saved == before - size(story) == 3
    )


def test_a_rewrite_that_shows_more_saves_less_than_nothing(story):
    (target,) = story.says(user(long(1)))
    assert rewrite(story, TextReplacement(target=target, text=long(3))).tokens_saved == -2


def test_a_custom_message_can_be_rewritten(story):
    target = story.add(CustomMessage(custom_type="x", content=long(10)))
    assert rewrite(story, TextReplacement(target=target, text=long(1))).tokens_saved == 9


@pytest.mark.parametrize("target", ["ghost", ""])
def test_a_target_that_is_not_there_is_refused_by_name(story, target):
    story.says(user("long"))
    with pytest.raises(NotFoundError) as refused:
        record_rewrite(story.writer, targets=[TextReplacement(target=target, text="")], reason="prune")
    assert refused.value.name == target


def test_a_target_that_a_compaction_hides_is_refused(story):
    old, kept = story.says(user("old"), user("kept"))
    record_compaction(story.writer, summary="s", first_kept=kept)
    with pytest.raises(NotFoundError) as refused:
        record_rewrite(story.writer, targets=[TextReplacement(target=old, text="")], reason="prune")
    assert refused.value.name == old


def test_a_target_on_another_branch_is_refused(story):
    root, elsewhere = story.says(user("root"), user("elsewhere"))
    story.add(CustomMessage(custom_type="x", content="here"), parent=root)
    with pytest.raises(NotFoundError):
        record_rewrite(story.writer, targets=[TextReplacement(target=elsewhere, text="")], reason="prune")


def test_one_target_that_is_not_there_refuses_all(story):
    (target,) = story.says(user("long"))
    with pytest.raises(NotFoundError):
        rewrite(story, TextReplacement(target=target, text=""), TextReplacement(target="ghost", text=""))
    assert version(story.log, "s") == 1


def test_a_rewrite_while_somebody_appends_is_refused(story, interrupt):
    (target,) = story.says(user("long"))
    with pytest.raises(VersionConflictError):
        record_rewrite(
            interrupt(story).writer, targets=[TextReplacement(target=target, text="short")], reason="prune"
        )
    assert texts_of(build_context(story.log, "s")) == ["long", "me first"]


@pytest.mark.parametrize("block", [1, -1, 7])
def test_a_block_that_a_message_does_not_have_is_refused(story, block):
    (target,) = story.says(user("long"))
    with pytest.raises(BadInputError) as refused:
        rewrite(story, TextReplacement(target=target, text="short", block=block))
    assert re.findall(r"-?\d+", refused.value.problem) == [str(block), "1"]


def test_of_a_command_that_the_person_ran_the_output_is_rewritten(story):
    (target,) = story.says(shell("ls", long(10)))
    record = rewrite(story, TextReplacement(target=target, text="short"))
    (part,) = build_context(story.log, "s").parts
    assert shell_text(view_of_part(part).shell) == "Ran `ls`\n```\nshort\n```"
    assert (part.fate, part.role) == ("rewritten", "bashExecution")
    assert (record.tokens_saved, size(story)) == (9, 2)


def test_a_rewritten_command_is_told_to_models_as_it_is_shown(story):
    (target,) = story.says(shell("ls", "the whole output"))
    rewrite(story, TextReplacement(target=target, text="short"))
    context = build_context(story.log, "s")
    for shown in (render(context, model="m").body.decode(), serialize(context.parts)):
        assert "short" in shown
        assert "the whole output" not in shown


def test_a_command_that_the_person_ran_has_no_blocks(story):
    (target,) = story.says(shell("ls", "a"))
    with pytest.raises(BadInputError) as refused:
        rewrite(story, TextReplacement(target=target, text="short", block=0))
    assert sentences.numbers(refused.value.problem) == []


def test_a_span_saves_what_it_hides_less_its_own_text(story):
    story.says(user(long(10)), assistant(long(20)), user(long(1)))
    record = rewrite(story, TextReplacement(target="e1", text=long(2), through="e2"), reason="snip")
    assert (record.tokens_saved, size(story)) == (28, 3)


def test_a_span_must_end_at_its_beginning_or_behind_it(story):
    story.says(user("one"), user("two"))
    with pytest.raises(BadInputError) as refused:
        record_rewrite(
            story.writer, targets=[TextReplacement(target="e2", text="x", through="e1")], reason="snip"
        )
    assert "'e1'" in refused.value.problem


def test_at_another_leaf_what_is_there_is_rewritten_and_the_session_stands_below_it(story):
    *_, leaf = calls(story, *[100] * 4)
    story.says(assistant("", stop="error"))
    (entry,) = carried_out(story, Micro(), leaf=leaf, since=version(story.log, "s"))
    assert story[entry].parent == leaf
    assert "[Earlier tool result compacted. Re-run if needed.]" in texts_of(build_context(story.log, "s"))


def test_at_another_leaf_nothing_is_rewritten_once_somebody_has_gone_on_from_it(story):
    *_, leaf = calls(story, *[100] * 4)
    since = version(story.log, "s")
    story.says(user("late"))
    assert carried_out(story, Micro(), leaf=leaf, since=since) == []
