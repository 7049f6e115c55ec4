"""Check the context that rewrites read, one after the other."""

from __future__ import annotations

from compaction.rewrites import Mask, Micro
from compaction.sized_context import shown_after, sized
from eventstore.records import TextReplacement
from projections.context.build import build_context
from tests.compaction.rewrites.contexts import TOKENS, calls
from tests.support.talk import assistant, call, result, user


def seen(story):
    return sized("s", build_context(story.log, "s").parts, TOKENS)


def test_a_line_knows_the_tokens_behind_it(story):
    story.says(user("x" * 400), user("x" * 40), user("x" * 8))
    assert [each.behind for each in seen(story).messages] == [12, 2, 0]


def test_a_result_knows_its_call(story):
    story.says(assistant(call("read", "c1", path="a.py")), result("it", call_id="c1"))
    assert seen(story).results[0].call.argument("path") == "a.py"


def test_an_orphan_knows_none(story):
    story.says(result("it", call_id="c1"))
    assert seen(story).results[0].call is None


def test_the_next_rewrite_sees_what_the_one_before_leaves(story):
    calls(story, 100, 100, 100, 100)
    first = seen(story)
    masked = shown_after(first, Mask(keep_observations=0).plan(first), TOKENS)
    assert Micro().plan(masked) == []


def test_a_rewritten_line_says_so(story):
    (target,) = calls(story, 100)
    assert (
        shown_after(seen(story), [TextReplacement(target=target, text="cut")], TOKENS).results[0].is_rewritten
    )
