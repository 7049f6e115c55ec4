"""Avoid cuts that lose messages, orphan results or keep far too much."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from compaction.cuts import KeepRecent, LastMessages, TailTurn
from compaction.part import Limits
from compaction.policy.load import load_preset
from compaction.window import build_window
from eventstore.records import CustomMessage, MessageRecord
from projections.context.build import build_context
from projections.context.cursor import resolve_cursor
from projections.tokens import counter
from tests.compaction.scripted import Scripted, compactor, long, policy, prompting, turns
from tests.support.talk import assistant, call, result, shell, texts_of, user

LIMITS = Limits(window=200_000)
TOKENS = counter("utf16/4")
MENDED = msgspec.structs.replace(load_preset("opencode"), cut=TailTurn())
MARKED = {"compaction_continue": True}
SPLIT = "\n\n---\n\n**Turn Context (split turn):**\n\n"
REQUESTS = "\n\n---\n\n**Requests, word for word:**\n\n"


def cut(story, part):
    with story.log.snapshot() as snapshot:
        return part.cut(build_window(snapshot, resolve_cursor(snapshot, "s"), TOKENS), LIMITS)


def test_a_window_behind_the_compaction_would_leave_what_it_kept_in_no_summary(story):
    scribe = Scripted()
    made = compactor(scribe, policy(prompting=prompting(template="short", update="short", turn_prefix="")))
    turns(story, 20, 10)
    made.compact(story.writer)
    turns(story, 10)
    made.compact(story.writer)
    first, second = ([part.id for part in prompt.parts] for prompt in scribe.prompts)
    assert (first, second) == (["e1", "e2"], ["e3", "e4"])


def test_a_tail_that_ends_once_it_is_full_would_have_100030_tokens_for_8000(story):
    story.says(user(long(20_000)), assistant(long(10)))
    story.says(user(long(10)), assistant(long(28), call("bash", "c1")), result(long(100_000), call_id="c1"))
    assert sum(TOKENS.count(build_context(story.log, "s").parts[-2:])) == 100_030
    compactor(Scripted(lambda _: "so far"), MENDED).compact(story.writer)
    _, *tail = build_context(story.log, "s").parts
    assert [part.id for part in tail] == ["e4", "e5"]
    assert sum(TOKENS.count(tail)) <= 8_000


def test_a_tail_of_results_alone_would_hide_the_order_that_asked_for_them(story):
    story.says(user("first"), assistant("done"), user("check file X"), assistant(long(8_000)))
    story.says(assistant("I look", call("bash", "c1")), result("it is there", call_id="c1"))
    scribe = Scripted()
    compactor(scribe, MENDED).compact(story.writer)
    summary, *tail = texts_of(build_context(story.log, "s"))
    assert (summary.count("check file X"), len(tail)) == (1, 2)


def test_one_step_back_would_part_the_second_of_parallel_results_from_its_call(story):
    story.says(user("go"), assistant(call("bash", "c1"), call("bash", "c2")))
    story.says(result("one", call_id="c1"), result("two", call_id="c2"), user("a"), assistant("b"), user("c"))
    assert cut(story, LastMessages(messages=4)).kept[0] == "e2"


def test_a_command_of_the_persons_would_be_a_split_turn_with_an_empty_beginning(story):
    turns(story, 30)
    story.says(shell("make", long(5)))
    found = cut(story, KeepRecent(tokens=20))
    assert (found.turn_prefix, found.kept) == ([], ["e3"])


def test_an_extensions_message_would_be_no_place_to_cut_by_the_name_of_its_old_role(story):
    turns(story, 30)
    story.says({"role": "custom", "customType": "x", "content": long(10), "display": True})
    story.add(CustomMessage(custom_type="x", content=long(10)))
    assert cut(story, KeepRecent(tokens=20)).kept == ["e3", "e4"]


def test_a_word_to_go_on_quoted_as_the_newest_order_would_hide_the_order_itself(story):
    story.says(user("check file X"), assistant(long(9_000)))
    story.writer.append(MessageRecord(message=Raw(b'{"role":"user","content":"continue"}'), metadata=MARKED))
    story.says(assistant(long(7_000)), assistant(call("bash", "c1")), result(long(3_000), call_id="c1"))
    found = cut(story, TailTurn())
    assert found.quoted == ["e1"]


def test_shell_commands_that_came_after_it_would_hide_the_newest_order(story):
    story.says(user("first"), assistant("done"), user("mend the parser"), assistant(long(9_000)))
    story.says(shell("ls", "a.py"))
    compactor(Scripted(lambda _: "so far"), MENDED).compact(story.writer)
    assert texts_of(build_context(story.log, "s")) == [f"so far{REQUESTS}mend the parser", "ls"]
