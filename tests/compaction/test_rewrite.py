"""Rewrites: what they save is what the context shrinks by."""

from __future__ import annotations

import pytest

from compaction import record_compaction, record_rewrite
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.records import CustomMessage, Shown, record_of
from projections.context import build_context
from tests.support.events import version
from tests.support.talk import assistant, call, image, result, texts_of, user


def rewrite(story, *targets, reason="prune"):
    """Record a rewrite, and give its record."""
    return record_of("rewrite", story[record_rewrite(story.writer, targets=targets, reason=reason)].body)


def size(story):
    return sum(part.utf16 for part in build_context(story.log, "s").parts)


def long(tokens):
    return "x" * 4 * tokens


def test_a_rewrite_shows_its_text_from_here_on(story):
    (target,) = story.says(user("long"))
    rewrite(story, Shown(target=target, shown="short"))
    assert texts_of(build_context(story.log, "s")) == ["short"]


def test_a_rewrite_says_why_and_of_what(story):
    (target,) = story.says(user("long"))
    shown = Shown(target=target, shown="short")
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
    record = rewrite(story, Shown(target=target, shown=long(1), block=block))
    assert record.tokens_saved == before - size(story) == saved


def test_the_tokens_saved_by_several_targets_add_up(story):
    one, two = story.says(result(long(10), long(10)), user(long(10)))
    before = size(story)
    targets = [
        Shown(target=one, shown="", block=0),
        Shown(target=two, shown=long(4)),
        Shown(target=one, shown="", block=1),
    ]
    assert rewrite(story, *targets).tokens_saved == before - size(story) == 26


def test_a_rewrite_of_a_rewrite_saves_what_is_saved_on_top(story):
    (target,) = story.says(user(long(10)))
    rewrite(story, Shown(target=target, shown=long(4)))
    before = size(story)
    assert rewrite(story, Shown(target=target, shown=long(1))).tokens_saved == before - size(story) == 3


def test_a_rewrite_that_shows_more_saves_less_than_nothing(story):
    (target,) = story.says(user(long(1)))
    assert rewrite(story, Shown(target=target, shown=long(3))).tokens_saved == -2


def test_a_custom_message_can_be_rewritten(story):
    target = story.add(CustomMessage(custom_type="x", content=long(10)))
    assert rewrite(story, Shown(target=target, shown=long(1))).tokens_saved == 9


@pytest.mark.parametrize("target", ["ghost", ""])
def test_a_target_that_is_not_there_is_refused_by_name(story, target):
    story.says(user("long"))
    with pytest.raises(NotFoundError, match=f"no message in the context '{target}'"):
        record_rewrite(story.writer, targets=[Shown(target=target, shown="")], reason="prune")


def test_a_target_that_a_compaction_hides_is_refused(story):
    old, kept = story.says(user("old"), user("kept"))
    record_compaction(story.writer, summary="s", first_kept=kept)
    with pytest.raises(NotFoundError, match=f"no message in the context '{old}'"):
        record_rewrite(story.writer, targets=[Shown(target=old, shown="")], reason="prune")


def test_a_target_on_another_branch_is_refused(story):
    root, elsewhere = story.says(user("root"), user("elsewhere"))
    story.add(CustomMessage(custom_type="x", content="here"), parent=root)
    with pytest.raises(NotFoundError):
        record_rewrite(story.writer, targets=[Shown(target=elsewhere, shown="")], reason="prune")


def test_one_target_that_is_not_there_refuses_all(story):
    (target,) = story.says(user("long"))
    with pytest.raises(NotFoundError):
        rewrite(story, Shown(target=target, shown=""), Shown(target="ghost", shown=""))
    assert version(story.log, "s") == 1


def test_a_rewrite_while_somebody_appends_is_refused(story, interrupt):
    (target,) = story.says(user("long"))
    with pytest.raises(VersionConflictError):
        record_rewrite(interrupt(story).writer, targets=[Shown(target=target, shown="short")], reason="prune")
    assert texts_of(build_context(story.log, "s")) == ["long", "me first"]


@pytest.mark.parametrize("block", [1, -1, 7])
def test_a_block_that_a_message_does_not_have_is_refused(story, block):
    (target,) = story.says(user("long"))
    with pytest.raises(BadInputError, match="has no block"):
        rewrite(story, Shown(target=target, shown="short", block=block))


def test_a_shell_command_has_no_content_to_rewrite(story):
    (target,) = story.says({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0})
    with pytest.raises(BadInputError, match="no content to rewrite"):
        rewrite(story, Shown(target=target, shown="short"))


def test_a_span_saves_what_it_hides_less_its_own_text(story):
    story.says(user(long(10)), assistant(long(20)), user(long(1)))
    record = rewrite(story, Shown(target="e1", shown=long(2), through="e2"), reason="snip")
    assert (record.tokens_saved, size(story)) == (28, 3)


def test_a_span_must_end_at_its_beginning_or_behind_it(story):
    story.says(user("one"), user("two"))
    with pytest.raises(BadInputError, match="'e1' is no message of the context at or behind it"):
        record_rewrite(story.writer, targets=[Shown(target="e2", shown="x", through="e1")], reason="snip")
