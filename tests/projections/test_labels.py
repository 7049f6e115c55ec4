"""Labels after the events so far."""

from __future__ import annotations

from eventstore.records import Label
from projections.tree import labels_of
from tests.support.events import event
from tests.support.talk import user


def labels(log, session="s"):
    with log.snapshot() as snapshot:
        return labels_of(snapshot, session)


def test_a_label_is_on_what_it_names(story):
    (said,) = story.says(user("hello"))
    story.add(Label(target_id=said, label="here"))
    assert labels(story.log) == {said: "here"}


def test_the_newest_label_of_an_entry_holds(story):
    (said,) = story.says(user("hello"))
    story.add(Label(target_id=said, label="here"), Label(target_id=said, label="there"))
    assert labels(story.log) == {said: "there"}


def test_no_label_takes_the_label_away(story):
    (said,) = story.says(user("hello"))
    story.add(Label(target_id=said, label="here"), Label(target_id=said))
    assert labels(story.log) == {}


def test_null_and_the_empty_text_take_labels_away(log):
    set_ = [event(f"l{number}", "label", targetId=f"t{number}", label="here") for number in range(2)]
    log.append("s", [*set_, event("n", "label", targetId="t0", label=None)])
    log.append("s", [event("e", "label", targetId="t1", label="")])
    assert labels(log) == {}


def test_a_label_holds_whatever_branch_it_was_set_on(story):
    root, elsewhere = story.says(user("root"), user("elsewhere"))
    story.add(Label(target_id=elsewhere, label="here"), parent=root)
    assert labels(story.log) == {elsewhere: "here"}


def test_what_a_label_is_on_need_not_be_there(story):
    story.add(Label(target_id="ghost", label="here"))
    assert labels(story.log) == {"ghost": "here"}


def test_a_label_that_is_set_again_after_it_was_taken_away_goes_to_the_end(story):
    story.add(
        Label(target_id="a", label="1"),
        Label(target_id="b", label="2"),
        Label(target_id="a"),
        Label(target_id="a", label="3"),
    )
    assert list(labels(story.log)) == ["b", "a"]


def test_a_label_that_is_changed_keeps_its_place(story):
    story.add(
        Label(target_id="a", label="1"), Label(target_id="b", label="2"), Label(target_id="a", label="3")
    )
    assert list(labels(story.log)) == ["a", "b"]


def test_a_label_on_nothing_that_can_be_named_is_none(log):
    log.append("s", [event("l1", "label", targetId=7, label="here"), event("l2", "label", label="here")])
    assert labels(log) == {}
