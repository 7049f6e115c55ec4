"""Check the records that a compaction appends behind its summary, and the size with them."""

from __future__ import annotations

from compaction.cuts import LastMessages, TailTurn
from compaction.policy.model import Restoring
from compaction.triggers import Threshold
from projections.context.build import build_context
from tests.compaction.scripted import (
    Scripted,
    compactor,
    long,
    policy,
    turns,
)
from tests.support.talk import assistant, call, image, result, text, texts_of, user


def size_of(story):
    return sum(part.utf16 for part in build_context(story.log, "s").parts)


def reading(story, *sizes):
    """Reads of files of so many tokens: a.py, b.py, …; their names."""
    story.says(user("go"))
    for name, size in zip("abcdefg", sizes, strict=False):
        story.says(assistant(call("read", name, path=f"{name}.py")))
        story.says(result(long(size), tool="read", call_id=name))


WHOLE = policy(trigger=Threshold(), cut=LastMessages(messages=0), restoring=Restoring())


def test_images_of_an_unanswered_request_give_way_and_its_text_goes_on(story):
    turns(story, 20)
    story.says(user([text("what is this?"), image()]))
    replay = policy(continuation="replay")
    done = compactor(Scripted(lambda _: "so far"), replay).compact(
        story.writer, reason="overflow", continues=True
    )
    assert done.continued.branch == "media"
    assert texts_of(build_context(story.log, "s")) == [
        "so far",
        "what is this?|[image/png removed]",
        "[Continuing from compaction] what is this?",
    ]


def test_recently_read_files_are_shown_again_from_the_log(story):
    story.says(assistant(call("read", path="a.py")), result("the text", tool="read"))
    turns(story, 30, 10)
    restoring = policy(restoring=Restoring())
    compactor(Scripted(lambda _: "so far"), restoring).compact(story.writer)
    assert texts_of(build_context(story.log, "s"))[-1] == "a.py, as it was read last:\nthe text"


def test_a_kept_group_over_its_budget_shows_its_largest_results_shorter(story):
    turns(story, 100)
    story.says(user("go"), assistant(call("bash", "c1"), call("bash", "c2")))
    story.says(result(long(100_000), call_id="c1"), result(long(10), call_id="c2"))
    tail = policy(cut=TailTurn())
    compactor(Scripted(lambda _: "so far"), tail).compact(story.writer)
    *_, largest, small = texts_of(build_context(story.log, "s"))
    assert largest.startswith("<persisted-output")
    assert small == long(10)
    assert sum(part.utf16 for part in build_context(story.log, "s").parts) < 8_000


def test_the_size_after_counts_results_that_are_shown_shorter(story):
    turns(story, 100)
    story.says(user("go"), assistant(call("bash")), result(long(100_000)))
    done = compactor(Scripted(lambda _: "so far"), policy(cut=TailTurn())).compact(story.writer)
    assert (done.outcome, done.tokens_after) == ("compacted", size_of(story))


def test_the_size_after_counts_files_that_are_shown_again_and_the_message_that_goes_on(story):
    story.says(assistant(call("read", path="a.py")), result("the text", tool="read"))
    turns(story, 30, 10)
    own = policy(trigger=Threshold(), restoring=Restoring(), continuation="auto-continue")
    done = compactor(Scripted(lambda _: "so far"), own).compact(
        story.writer, reason="threshold", continues=True
    )
    assert (len(done.events), done.tokens_after) == (3, size_of(story))


def test_files_that_would_eat_the_gain_are_not_shown_again(story):
    reading(story, 100)
    done = compactor(Scripted(lambda _: "so far"), WHOLE).compact(story.writer)
    assert (done.outcome, texts_of(build_context(story.log, "s"))) == (
        "compacted",
        ["so far\n\n<read-files>\na.py\n</read-files>"],
    )


def test_as_many_files_are_shown_again_as_leave_a_gain_the_newest_first(story):
    reading(story, 100, 100, 100)
    done = compactor(Scripted(lambda _: long(50)), WHOLE).compact(story.writer)
    _, *shown = texts_of(build_context(story.log, "s"))
    assert [text.split(",")[0] for text in shown] == ["c.py", "b.py"]
    assert (done.outcome, done.tokens_after) == ("compacted", size_of(story))


def test_files_that_are_shown_again_are_not_compacted_away_before_anything_else_is_said(story):
    reading(story, 100, 100, 100)
    again = compactor(Scripted(lambda _: long(50)), WHOLE)
    first = again.compact(story.writer)
    shown = texts_of(build_context(story.log, "s"))
    assert (first.outcome, again.compact(story.writer).outcome) == ("compacted", "nothing")
    assert texts_of(build_context(story.log, "s")) == shown


def test_where_the_summary_alone_is_no_gain_nothing_that_is_shown_again_is_to_blame(story):
    reading(story, 100)
    done = compactor(Scripted(lambda _: long(150)), WHOLE).compact(story.writer)
    assert (done.outcome, done.tokens_after) == ("no-gain", 150 + 9)


def test_many_parallel_results_fit_the_budget_of_the_tail_together(story):
    names = [f"c{number}" for number in range(40)]
    turns(story, 100)
    story.says(user("go"), assistant(*(call("bash", name) for name in names)))
    story.says(*(result(long(2_500), call_id=name) for name in names))
    compactor(Scripted(lambda _: "so far"), policy(cut=TailTurn())).compact(story.writer)
    _, *kept = build_context(story.log, "s").parts
    assert sum(part.utf16 for part in kept) <= 8_000
