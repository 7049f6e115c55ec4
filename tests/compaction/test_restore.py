"""Files that are shown again behind a summary, from the log alone."""

from __future__ import annotations

from compaction.policies import Restoring
from compaction.restore import fewer, restored
from compaction.rewrites import sized
from projections.context import build_context
from projections.tokens import counter
from tests.compaction.scripted import long
from tests.support.talk import assistant, call, result

TOKENS = counter("utf16/4")


def reads(story, path, said="the text", **arguments):
    name = f"{path}-{len(said)}-{len(arguments)}"
    answer = result(said, tool="read", call_id=name, is_error=said == "no such file")
    return story.says(assistant(call("read", name, path=path, **arguments)), answer)[1]


def shown(story, kept=(), **numbers):
    found = restored(
        sized("s", build_context(story.log, "s").parts, TOKENS), Restoring(**numbers), set(kept), TOKENS
    )
    return [each.content for each in found]


def test_the_newest_read_of_each_file_is_shown_newest_first(story):
    reads(story, "a.py", "old")
    reads(story, "b.py")
    reads(story, "a.py", "newer")
    assert shown(story) == ["a.py, as it was read last:\nnewer", "b.py, as it was read last:\nthe text"]


def test_at_most_five_files_are_shown(story):
    for number in range(7):
        reads(story, f"{number}.py")
    assert [text.split(",")[0] for text in shown(story)] == ["6.py", "5.py", "4.py", "3.py", "2.py"]


def test_a_long_file_is_cut_to_its_tokens(story):
    reads(story, "a.py", long(6_000))
    (text,) = shown(story)
    assert text.count("x") == 20_000
    assert text.endswith("[... 4000 more characters]")


def test_all_files_together_stay_within_their_tokens(story):
    for number in range(4):
        reads(story, f"{number}.py", long(10))
    assert [text.count("x") for text in shown(story, tokens=25)] == [40, 40, 20]


def test_what_is_kept_is_not_shown_again(story):
    kept = reads(story, "a.py")
    assert shown(story, kept=[kept]) == []


def test_reads_that_failed_and_reads_of_a_part_are_not_shown(story):
    reads(story, "a.py", "no such file")
    reads(story, "b.py", offset=5)
    assert shown(story) == []


def test_the_current_plan_is_shown(story):
    story.says(assistant(call("todo", items=["one"])), result("ok", tool="todo"))
    assert shown(story) == ['The current plan:\n{"items":["one"]}']


def test_fewer_is_without_the_file_read_longest_ago_and_at_last_without_the_plan(story):
    reads(story, "a.py")
    reads(story, "b.py")
    story.says(assistant(call("todo", items=["one"])), result("ok", tool="todo"))
    context = sized("s", build_context(story.log, "s").parts, TOKENS)
    left = restored(context, Restoring(), set(), TOKENS)
    names = []
    while left:
        left = fewer(left)
        names.append([each.content.split()[0] for each in left])
    assert names == [["b.py,", "The"], ["The"], []]
