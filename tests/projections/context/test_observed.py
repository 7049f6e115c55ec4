"""Records that their harness changed after they were stored: contexts show them as they came last."""

from __future__ import annotations

import json

import msgspec
import pytest

from eventstore.harnesses.refold.events import compose
from eventstore.records import (
    BranchSummary,
    Compaction,
    CustomMessage,
    ObservedRewrite,
    Rewrite,
    TextReplacement,
)
from projections.context.build import build_context, context_json, harness_json
from projections.context.parts import Fate
from projections.timeline import timeline
from tests.support.talk import PiSession, assistant, texts_of, user


def changed(target, **entry):
    """Record that the harness now has this entry under the id."""
    record = json.dumps({"id": target, **entry}).encode()
    return ObservedRewrite(target_id=target, record=msgspec.Raw(record))


def changed_to(target, message):
    return changed(target, type="message", message=message)


def test_a_changed_message_shows_what_it_says_now(story):
    (said,) = story.says(user("before"))
    story.observes(changed_to(said, user("after")))
    (part,) = build_context(story.log, "s").parts
    assert (json.loads(part.raw), part.fate) == (user("after"), Fate.REWRITTEN)


def test_as_of_the_event_before_it_shows_what_it_said(story):
    (said,) = story.says(user("before"))
    story.observes(changed_to(said, user("after")))
    assert texts_of(build_context(story.log, "s", as_of=1)) == ["before"]


def test_the_newest_change_shows(story):
    (said,) = story.says(user("before"))
    for text in ("after", "after that"):
        story.observes(changed_to(said, user(text)))
    assert texts_of(build_context(story.log, "s")) == ["after that"]


def test_a_changed_message_shows_on_every_branch(story):
    root = story.says(user("before"))[0]
    story.says(user("elsewhere"))
    story.observes(changed_to(root, user("after")))
    here = story.add(CustomMessage(custom_type="x", content="here"), parent=root)
    assert texts_of(build_context(story.log, "s", leaf=here)) == ["after", "here"]


def test_a_changed_message_is_estimated_anew(story):
    (said,) = story.says(user("x" * 40))
    story.observes(changed_to(said, user("x" * 4)))
    (part,) = build_context(story.log, "s").parts
    assert (part.utf16, part.utf8) == (1, 1)


@pytest.mark.parametrize(
    "record",
    [
        Compaction(summary="x" * 40, first_kept_entry_id="ghost", tokens_before=9),
        BranchSummary(from_id="root", summary="x" * 40),
    ],
    ids=lambda record: record.kind,
)
def test_a_changed_summary_shows_and_is_estimated_anew(story, record):
    summary = story.add(record)
    story.observes(changed(summary, type=record.kind, summary="after"))
    context = build_context(story.log, "s")
    assert (texts_of(context), context.parts[0].utf16) == (["after"], 2)


def test_a_rewrite_lies_over_a_changed_message(story):
    (said,) = story.says(user("before"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target=said, text="short")]))
    story.observes(changed_to(said, {**user("after"), "extra": 1}))
    (part,) = build_context(story.log, "s").parts
    assert json.loads(part.raw) == {**user("short"), "extra": 1}


def test_a_changed_hook_message_of_an_older_version_is_still_a_custom_one(store, tmp_path):
    session = PiSession(2)
    session.says("a1", {"role": "hookMessage", "content": "before"})
    name = session.store_in(store, tmp_path)
    changes = changed_to("a1", {"role": "hookMessage", "content": "after"})
    store.append(name, [compose(changes, id="observed", time=0)])
    (part,) = build_context(store, name).parts
    assert json.loads(part.raw) == {"role": "custom", "content": "after"}


def test_bytes_and_parts_of_a_changed_context_agree(story):
    said, _ = story.says(user("before"), assistant("an answer"))
    story.observes(changed_to(said, user("after")))
    assert harness_json(build_context(story.log, "s")) == context_json(story.log, "s")


def test_a_timeline_has_the_size_of_a_changed_message(story):
    (said,) = story.says(user("x" * 40))
    story.says(user("x" * 4))
    story.observes(changed_to(said, user("x" * 8)))
    assert [moment.tokens for moment in timeline(story.log, "s").moments] == [2, 3]
