"""The first 3 and the last 47 messages stay."""

from __future__ import annotations

from compaction.rewrites import Snip
from compaction.sized_context import sized
from eventstore.records import Rewrite, TextReplacement
from projections.context.build import build_context
from tests.compaction.rewrites.contexts import TOKENS, why_nothing
from tests.support import sentences
from tests.support.talk import assistant, call, result, user


def snipped(story, **how):
    return Snip().plan(sized("s", build_context(story.log, "s").parts, TOKENS, **how))


def says(story, count):
    story.says(*(user(f"message {number}") for number in range(count)))


def span(number, target, through):
    return [
        TextReplacement(
            target=target, text=f"[snipped {number} messages from conversation middle]", through=through
        )
    ]


def test_fifty_messages_stay(story):
    says(story, 50)
    assert snipped(story) == []


def test_of_more_the_first_3_and_the_last_47_stay(story):
    says(story, 60)
    assert snipped(story) == span(10, "e4", "e13")


def test_the_placeholder_of_an_earlier_snip_is_no_message_or_each_request_would_snip_one_more(story):
    says(story, 60)
    story.add(Rewrite(reason="snip", targets=snipped(story)))
    assert snipped(story) == []


def test_a_later_snip_counts_what_the_earlier_one_stood_for(story):
    says(story, 60)
    story.add(Rewrite(reason="snip", targets=snipped(story)))
    says(story, 5)
    assert snipped(story) == span(15, "e4", "e18")


def test_a_call_at_the_beginning_keeps_its_results(story):
    story.says(user("go"), user("on"), assistant(call("read", "c1"), call("read", "c2")))
    story.says(result("one", call_id="c1"), result("two", call_id="c2"))
    says(story, 55)
    assert snipped(story) == span(8, "e6", "e13")


def test_a_result_at_the_end_keeps_its_call(story):
    says(story, 9)
    story.says(assistant(call("read", "c1")), result("one", call_id="c1"))
    says(story, 46)
    assert snipped(story) == span(6, "e4", "e9")


def test_a_conversation_that_is_one_group_stays(story):
    story.says(assistant(*(call("read", f"c{number}") for number in range(60))))
    story.says(*(result("it", call_id=f"c{number}") for number in range(60)))
    assert snipped(story) == []


def test_sessions_of_subagents_are_not_snipped(story):
    says(story, 60)
    assert snipped(story, is_subagent=True) == []


def test_a_result_holds_on_to_the_newest_call_of_its_id_alone(story):
    for _ in range(20):
        answer = result("found", call_id="call_0")
        story.says(user("go"), assistant(call("bash", "call_0")), answer, assistant("done"))
    assert snipped(story) == span(30, "e4", "e33")


def test_it_says_why_it_finds_nothing(story):
    says(story, 50)
    assert sentences.numbers(why_nothing(story, Snip())) == [50]
    assert "session" in why_nothing(story, Snip(longest=49), is_subagent=True)


def test_a_middle_that_belongs_together_is_reported(story):
    story.says(assistant(*(call("bash", f"c{number}") for number in range(9))))
    story.says(*(result("x", call_id=f"c{number}") for number in range(9)))
    why = why_nothing(story, Snip(longest=5))
    assert sentences.names(why, ["calls", "results", "session", "messages"]) == ["calls", "results"]
