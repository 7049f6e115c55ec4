"""Find a session's newest answer, and the context before answers that failed."""

from __future__ import annotations

import pytest

from compaction.newest_answer import session_end
from eventstore.records import Custom, Label, ModelChange
from tests.support.talk import assistant, user


def ends_with(story):
    with story.log.snapshot() as snapshot:
        return session_end(snapshot, "s")


def test_labels_and_titles_are_no_end(story):
    answer, *_ = story.says(assistant("done", stop="aborted"))
    story.add(Label(target_id=answer, label="here"))
    assert (ends_with(story).entry.id, ends_with(story).stop) == (answer, "aborted")


def test_a_message_of_a_person_is_no_answer(story):
    story.says(assistant("", stop="error"), user("again"))
    assert (ends_with(story).stop, ends_with(story).has_failed) == ("", False)


def test_before_answers_that_failed_there_was_the_request(story):
    request, *_ = story.says(user("go"), assistant("", stop="error"), assistant("half", stop="length"))
    assert (ends_with(story).before.id, ends_with(story).has_failed) == (request, True)


def test_before_a_failed_answer_that_is_all_there_is_there_was_nothing(story):
    story.says(assistant("", stop="error"))
    assert ends_with(story).before is None


@pytest.mark.parametrize(("model", "is_of"), [("m", True), ("p/m", True), ("another", False), ("q/m", False)])
def test_an_answer_is_of_the_model_that_it_names(story, model, is_of):
    story.says(assistant("done"))
    assert ends_with(story).is_of(model) == is_of


def test_an_answer_is_of_the_model_in_use_until_another_is_chosen(story):
    story.says(assistant("done"))
    assert ends_with(story).is_of()
    story.add(ModelChange(provider="q", model_id="n"))
    assert not ends_with(story).is_of()


def test_a_change_of_the_model_is_behind_the_newest_answer(story):
    story.says(assistant("half", stop="length"))
    story.add(ModelChange(provider="q", model_id="n"))
    assert (ends_with(story).stop, ends_with(story).has_failed) == ("length", True)


def test_settings_and_notes_before_a_failed_answer_stay_without_it(story):
    story.says(user("go"))
    chosen = story.add(ModelChange(provider="q", model_id="n"))
    story.says(assistant("", stop="error"))
    story.add(Custom(custom_type="x"))
    assert (ends_with(story).before.id, ends_with(story).stop) == (chosen, "error")
