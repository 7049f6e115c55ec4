"""A larger model in place of a compaction."""

from __future__ import annotations

from compaction.maintainer import Settings
from compaction.triggers import Threshold
from eventstore.records import ModelChange
from projections.context.build import build_context
from tests.compaction.maintainer.maintained import LARGER, decisions, kinds, maintainer
from tests.compaction.scripted import turns
from tests.support import sentences
from tests.support.talk import assistant, texts_of, user


def test_a_larger_model_goes_before_a_compaction(story):
    turns(story, 1_500)
    recommendation = maintainer(settings=LARGER, trigger=Threshold(percent=1)).after_turn(story.writer)
    assert (recommendation.do, recommendation.model, kinds(story)) == ("switch-model", "vast", [])


def test_a_larger_model_without_room_changes_nothing(story):
    turns(story, 6_000, 5)
    maintainer(settings=LARGER, trigger=Threshold(percent=1)).after_turn(story.writer)
    assert kinds(story) == ["compaction"]


def test_the_larger_model_in_use_is_compacted(story):
    turns(story, 1_500, 5)
    story.add(ModelChange(provider="p", model_id="vast"))
    maintainer(settings=LARGER, trigger=Threshold(percent=1)).after_turn(story.writer)
    assert "compaction" in kinds(story)


def test_a_larger_model_goes_on_without_the_failed_answer(story):
    turns(story, 1_500)
    story.says(user("next"), assistant("", stop="error"))
    recommendation = maintainer(settings=LARGER, trigger=Threshold(percent=1)).on_error(
        story.writer, "prompt is too long"
    )
    assert (recommendation.do, texts_of(build_context(story.log, "s"))[-1]) == ("switch-model", "next")


def test_an_idle_session_may_go_on_with_a_larger_model(story):
    turns(story, 1_500)
    idle = Settings(idle_enabled=True, idle_threshold_tokens=50, promotion=LARGER.promotion)
    recommendation = maintainer(settings=idle, trigger=Threshold(percent=1)).on_idle(story.writer, 300)
    assert (recommendation.do, kinds(story)) == ("switch-model", [])


def test_a_promotion_is_put_down(story):
    turns(story, 1_500)
    maintainer(settings=LARGER, trigger=Threshold(percent=1)).after_turn(story.writer)
    ((outcome, reason),) = decisions(story)
    assert (outcome, sentences.names(reason, ["vast"])) == ("promoted", ["vast"])


def test_a_larger_model_that_the_harness_uses_already_is_not_gone_on_with_again(story):
    turns(story, 1_500, 5)
    asked = maintainer(settings=LARGER, trigger=Threshold(percent=1))
    assert asked.on_error(story.writer, "prompt is too long", model="p/vast").do == "retry"
    turns(story, 1_500, 5)
    assert asked.after_turn(story.writer, model="p/vast").do == "nothing"
    assert kinds(story) == ["compaction", "compaction"]
