"""A policy's rewrites, carried out one upon the other."""

from __future__ import annotations

from threading import Thread

from compaction.rewrites import Mask, Micro, Snip
from compaction.rewriting import record_rewrites
from eventstore.records import Link, Undone, record_of
from eventstore.writing import SessionWriter
from projections.context import build_context, context_json
from projections.tokens import counter
from tests.compaction.rewrites.contexts import calls
from tests.support.talk import texts_of, user

TOKENS = counter("utf16/4")


def carried_out(story, *parts, **options):
    return record_rewrites(story.writer, parts, tokens=TOKENS, **options)


def size(story):
    return sum(TOKENS.count(build_context(story.log, "s").parts))


def test_each_rewrite_is_an_entry_that_says_what_it_saved(story):
    calls(story, *[100] * 4)
    before = size(story)
    (entry,) = carried_out(story, Micro())
    record = record_of("rewrite", story[entry].body)
    assert (record.reason, record.tokens_saved) == ("micro", before - size(story))


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
