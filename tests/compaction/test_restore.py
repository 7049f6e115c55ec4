"""Files that are shown again behind a summary, from the log alone."""

from __future__ import annotations

from compaction.branching.undo import undo
from compaction.composing import drop_least_recent, restore_files
from compaction.policy.load import load_preset
from compaction.policy.model import Restoring
from compaction.rewrites import Micro
from compaction.rewriting import record_rewrites
from eventstore.records import RESTORED_FILE
from projections.context.build import build_context
from projections.context.cursor import newest_first, resolve_cursor
from projections.tokens import counter
from tests.compaction.scripted import Scripted, compactor, long
from tests.support.talk import assistant, call, result, texts_of, user

TOKENS = counter("utf16/4")


def reads(story, path, said="the text", **arguments):
    name = f"{path}-{len(said)}-{len(arguments)}"
    answer = result(said, tool="read", call_id=name, is_error=said == "no such file")
    return story.says(assistant(call("read", name, path=path, **arguments)), answer)[1]


def again(story, kept=(), **numbers):
    """Return the files to show again behind a compaction that keeps these messages."""
    with story.log.snapshot() as snapshot:
        entries = list(newest_first(snapshot, resolve_cursor(snapshot, "s")))
    parts = [part for part in build_context(story.log, "s").parts if part.id in kept]
    return restore_files(lambda: entries, Restoring(**numbers), parts, TOKENS)


def shown(story, kept=(), **numbers):
    return [each.content for each in again(story, kept, **numbers)]


def micro(story):
    """Blank all but the newest three results, as `layered` does before every request."""
    record_rewrites(story.writer, [Micro()], tokens=TOKENS)


def restored_in(story):
    """The files that the context shows again, in its order."""
    context = build_context(story.log, "s")
    texts = zip(context.parts, texts_of(context), strict=True)
    return [text.split(",")[0] for part, text in texts if RESTORED_FILE.encode() in part.raw]


def test_the_newest_read_of_each_file_is_shown_newest_first(story):
    reads(story, "a.py", "old")
    reads(story, "b.py")
    reads(story, "a.py", "newer")
    assert shown(story) == ["a.py, as it was read last:\nnewer", "b.py, as it was read last:\nthe text"]


def test_of_files_that_one_answer_reads_at_once_the_last_call_counts_as_the_newest(story):
    story.says(
        assistant(call("read", "1", path="a.py"), call("read", "2", path="b.py")),
        result("text of b", tool="read", call_id="2"),
        result("text of a", tool="read", call_id="1"),
    )
    assert [text.split(",")[0] for text in shown(story)] == ["b.py", "a.py"]
    assert [text.split(",")[0] for text in shown(story, files=1)] == ["b.py"]


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


def test_all_files_together_stay_within_50000_tokens(story):
    for number in range(12):
        reads(story, f"{number}.py", long(5_000))
    assert [text.count("x") for text in shown(story, files=12)] == [20_000] * 10


def test_layered_shows_again_5_files_of_5000_tokens_and_50000_in_all():
    assert load_preset("layered").restoring == Restoring(files=5, tokens_a_file=5_000, tokens=50_000)


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
    left = again(story)
    names = []
    while left:
        left = drop_least_recent(left)
        names.append([each.content.split()[0] for each in left])
    assert names == [["b.py,", "The"], ["The"], []]


def test_files_whose_reads_a_rewrite_blanked_are_shown_as_they_are_stored(story):
    for number in range(8):
        reads(story, f"{number}.py", long(40 + number))
        micro(story)
    assert [text.split(",")[0] for text in shown(story)] == ["7.py", "6.py", "5.py", "4.py", "3.py"]
    assert [text.count("x") for text in shown(story)] == [188, 184, 180, 176, 172]


def test_an_older_read_never_stands_for_a_newer_one_that_a_rewrite_blanked(story):
    reads(story, "a.py", "short")
    reads(story, "a.py", long(40))
    for number in range(3):
        reads(story, f"{number}.py", long(50))
    micro(story)
    assert shown(story)[-1] == f"a.py, as it was read last:\n{long(40)}"


def test_a_file_whose_newest_read_failed_is_not_shown_as_it_was_before(story):
    reads(story, "a.py", "the text")
    reads(story, "a.py", "no such file")
    assert shown(story) == []


def test_what_is_kept_but_blanked_is_shown_again(story):
    kept = reads(story, "a.py", long(40))
    for number in range(3):
        reads(story, f"{number}.py", long(50))
    micro(story)
    assert "a.py, as it was read last:" in shown(story, kept=[kept])[-1]


def test_results_are_those_of_the_newest_call_with_their_id(story):
    for name in ("a.py", "b.py"):
        story.says(assistant(call("read", "call_0", path=name)), result(name, tool="read", call_id="call_0"))
    assert shown(story) == ["b.py, as it was read last:\nb.py", "a.py, as it was read last:\na.py"]


def test_what_an_earlier_compaction_shows_again_and_this_one_keeps_is_not_shown_twice(story):
    reads(story, "a.py")
    story.says(assistant(call("todo", "t1", items=["one"])), result("ok", tool="todo", call_id="t1"))
    kept = [story.add(each) for each in again(story)]
    assert shown(story, kept=kept) == []


def test_a_file_that_was_read_anew_since_it_was_shown_again_is_shown_as_it_is_now(story):
    reads(story, "a.py", "old")
    kept = [story.add(each) for each in again(story)]
    reads(story, "a.py", "newer")
    assert shown(story, kept=kept) == ["a.py, as it was read last:\nnewer"]


def test_layered_shows_five_files_again_behind_every_compaction(story):
    layered = compactor(Scripted(), load_preset("layered"))
    for number in range(8):
        reads(story, f"{number}.py", long(200 + number))
        micro(story)
    story.says(user(long(2_000)))
    wanted = ["7.py", "6.py", "5.py", "4.py", "3.py"]
    assert layered.compact(story.writer).outcome == "compacted"
    assert restored_in(story) == wanted
    story.says(user(long(2_000)), assistant("done"))
    assert layered.compact(story.writer).outcome == "compacted"
    assert restored_in(story) == wanted


def test_what_is_shown_again_goes_with_the_compaction_that_is_undone(story):
    reads(story, "a.py", long(100))
    story.says(user(long(2_000)))
    compactor(Scripted(), load_preset("layered")).compact(story.writer)
    undo(story.writer)
    assert restored_in(story) == []
    assert len(shown(story)) == 1
