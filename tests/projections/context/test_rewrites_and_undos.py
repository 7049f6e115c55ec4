"""Rewrites and undos: what contexts show of earlier entries on the branch behind them, and there alone."""

from __future__ import annotations

import json

import pytest

from eventstore.records import Compaction, CustomMessage, ModelChange, Rewrite, TextReplacement, Undone
from projections.context.build import build_context, context_json
from tests.support.talk import assistant, image, result, text, texts_of, thinking, user


def raws(log, session, **where):
    return [part.raw for part in build_context(log, session, **where).parts]


def shown(target, to="shorter", block=None):
    return Rewrite(reason="prune", targets=[TextReplacement(target=target, text=to, block=block)])


def compacted(first_kept="", summary="what was before"):
    return Compaction(summary=summary, first_kept_entry_id=first_kept, tokens_before=9)


def test_a_rewrite_of_a_block_leaves_the_other_blocks(story):
    (target,) = story.says(result("long output", image(), "the end"))
    story.add(shown(target, "cut", block=0))
    assert texts_of(build_context(story.log, "s")) == ["cut|image|the end"]


def test_a_rewrite_of_a_whole_content_leaves_one_text(story):
    (target,) = story.says(result("long output", image()))
    story.add(shown(target, "cut"))
    assert {**result("cut")} == json.loads(raws(story.log, "s")[0])


def test_a_rewrite_of_a_text_content_is_a_text(story):
    (target,) = story.says(user("a long question"))
    story.add(shown(target, "a question"))
    assert user("a question") == json.loads(raws(story.log, "s")[0])


def test_a_rewrite_leaves_every_other_field_of_its_message(story):
    said = {**result("long", is_error=True), "details": {"exit": 1.5}, "später": None}
    (target,) = story.says(said)
    story.add(shown(target, "short"))
    assert {**said, "content": [text("short")]} == json.loads(raws(story.log, "s")[0])


def test_the_newest_rewrite_of_a_block_wins(story):
    (target,) = story.says(result("one", "two"))
    story.add(shown(target, "first", block=1))
    story.add(shown(target, "second", block=1))
    assert texts_of(build_context(story.log, "s")) == ["one|second"]


def test_the_last_of_two_targets_of_one_rewrite_wins(story):
    (target,) = story.says(user("long"))
    targets = [TextReplacement(target=target, text=name) for name in ("first", "second")]
    story.add(Rewrite(reason="prune", targets=targets))
    assert texts_of(build_context(story.log, "s")) == ["second"]


def test_rewrites_of_two_blocks_both_show(story):
    (target,) = story.says(result("one", "two"))
    story.add(shown(target, "second", block=1))
    story.add(shown(target, "first", block=0))
    assert texts_of(build_context(story.log, "s")) == ["first|second"]


def test_a_rewrite_of_all_is_over_an_older_one_of_a_block(story):
    (target,) = story.says(result("one", "two"))
    story.add(shown(target, "first", block=0))
    story.add(shown(target, "all"))
    assert texts_of(build_context(story.log, "s")) == ["all"]


def test_a_rewritten_message_is_estimated_anew(story):
    (target,) = story.says(user("x" * 400))
    story.add(shown(target, "é" * 8))
    (part,) = build_context(story.log, "s").parts
    assert (part.utf16, part.utf8) == (2, 4)


def test_a_rewrite_does_not_hold_before_it(story):
    (target,) = story.says(user("long"))
    story.add(shown(target))
    assert texts_of(build_context(story.log, "s", leaf=target)) == ["long"]


def test_a_rewrite_does_not_hold_on_another_branch(story):
    (target,) = story.says(user("long"))
    story.add(shown(target))
    story.add(ModelChange(provider="p", model_id="m"), parent=target)
    assert texts_of(build_context(story.log, "s")) == ["long"]


def test_a_rewrite_of_what_another_branch_says_shows_nothing(story):
    root, elsewhere = story.says(user("root"), user("elsewhere"))
    story.add(ModelChange(provider="p", model_id="m"), parent=root)
    story.add(shown(elsewhere))
    assert texts_of(build_context(story.log, "s")) == ["root"]


def test_a_rewrite_of_what_a_compaction_hides_shows_nothing(story):
    old, kept = story.says(user("old"), user("kept"))
    story.add(shown(old), compacted(kept))
    assert texts_of(build_context(story.log, "s")) == ["what was before", "kept"]


def test_a_rewrite_before_a_compaction_holds_for_what_it_kept(story):
    _, kept = story.says(user("old"), user("kept"))
    story.add(shown(kept), compacted(kept))
    assert texts_of(build_context(story.log, "s")) == ["what was before", "shorter"]


def test_an_undone_rewrite_gives_the_recorded_bytes_back(story):
    (target,) = story.says(result("long", image()))
    before = context_json(story.log, "s")
    undoing = story.add(shown(target))
    story.add(Undone(target_id=undoing))
    assert before == context_json(story.log, "s")


def test_an_undone_rewrite_lets_an_older_one_show(story):
    (target,) = story.says(user("long"))
    story.add(shown(target, "older"))
    newer = story.add(shown(target, "newer"))
    story.add(Undone(target_id=newer))
    assert texts_of(build_context(story.log, "s")) == ["older"]


def test_an_undo_of_an_undo_shows_the_rewrite_again(story):
    (target,) = story.says(user("long"))
    rewrite = story.add(shown(target))
    undo = story.add(Undone(target_id=rewrite))
    story.add(Undone(target_id=undo))
    assert texts_of(build_context(story.log, "s")) == ["shorter"]


def test_an_undo_holds_on_its_branch_only(story):
    (target,) = story.says(user("long"))
    rewrite = story.add(shown(target))
    story.add(Undone(target_id=rewrite))
    story.add(ModelChange(provider="p", model_id="m"), parent=rewrite)
    assert texts_of(build_context(story.log, "s")) == ["shorter"]


def test_an_undone_compaction_gives_the_bytes_from_before_it_back(story):
    _, kept = story.says(user("old"), assistant("kept"))
    before = context_json(story.log, "s")
    compaction = story.add(compacted(kept))
    story.add(Undone(target_id=compaction))
    assert before == context_json(story.log, "s")


def test_an_undone_compaction_lets_an_older_one_hold(story):
    _, second, third = story.says(user("first"), user("second"), user("third"))
    story.add(compacted(second, "older summary"))
    before = context_json(story.log, "s")
    newer = story.add(compacted(third, "newer summary"))
    story.add(Undone(target_id=newer))
    assert before == context_json(story.log, "s")


def test_an_undo_of_an_undo_brings_a_compaction_back(story):
    _, kept = story.says(user("old"), user("kept"))
    compaction = story.add(compacted(kept))
    after = context_json(story.log, "s")
    undo = story.add(Undone(target_id=compaction))
    story.add(Undone(target_id=undo))
    assert after == context_json(story.log, "s")


def test_an_undo_takes_back_the_whole_append_that_its_target_came_with(story):
    _, kept = story.says(user("old"), user("kept"))
    before = context_json(story.log, "s")
    going_on = CustomMessage(custom_type="continue", content="go on")
    story.add(shown(kept), compacted(kept), going_on, cause="append-1")
    story.add(Undone(target_id=story["e3"].id))
    assert before == context_json(story.log, "s")


@pytest.mark.parametrize("block", [thinking("hm"), image(), {"type": "novelty", "data": "?"}])
def test_a_block_of_any_type_can_be_shown_otherwise(story, block):
    (target,) = story.says(assistant(block, "said"))
    story.add(shown(target, "elided", block=0))
    assert texts_of(build_context(story.log, "s")) == ["elided|said"]


def spanning(target, through, to="[3 messages]"):
    return Rewrite(reason="snip", targets=[TextReplacement(target=target, text=to, through=through)])


def test_a_message_stands_for_all_from_the_first_to_the_last_of_a_span(story):
    story.says(user("one"), assistant("two"), user("three"), user("four"))
    story.add(spanning("e2", "e3"))
    assert texts_of(build_context(story.log, "s")) == ["one", "[3 messages]", "four"]


def test_the_message_that_stands_for_others_is_a_users_with_the_time_of_the_first(story):
    story.says(user("one"), assistant("two"))
    story.add(spanning("e2", "e2"))
    shown_there = json.loads(raws(story.log, "s")[1])
    assert shown_there == {"role": "user", "content": "[3 messages]", "timestamp": 2000}


def test_a_span_that_ends_before_it_begins_hides_nothing(story):
    story.says(user("one"), user("two"))
    story.add(spanning("e2", "e1"))
    assert texts_of(build_context(story.log, "s")) == ["one", "two"]


def test_a_span_that_ends_elsewhere_hides_nothing(story):
    story.says(user("one"), user("two"))
    story.add(spanning("e1", "ghost"))
    assert texts_of(build_context(story.log, "s")) == ["one", "two"]


def test_a_span_over_an_older_one_stands_for_both(story):
    story.says(user("one"), user("two"), user("three"), user("four"))
    story.add(spanning("e2", "e3", "old"))
    story.add(spanning("e1", "e3", "new"))
    assert texts_of(build_context(story.log, "s")) == ["new", "four"]


def test_an_undone_span_gives_all_its_messages_back(story):
    story.says(user("one"), assistant("two"), user("three"))
    story.add(spanning("e1", "e2"))
    story.add(Undone(target_id="e4"))
    assert texts_of(build_context(story.log, "s")) == ["one", "two", "three"]


def test_a_rewrite_inside_a_span_shows_nothing(story):
    story.says(user("one"), result("long"), user("three"))
    story.add(shown("e2"))
    story.add(spanning("e1", "e2"))
    assert texts_of(build_context(story.log, "s")) == ["[3 messages]", "three"]
