"""Plan a compaction, or say why there is nothing to do."""

from __future__ import annotations

import pytest

from compaction.cuts import KeepRecent, LastMessages, TailTurn
from compaction.plan import ALL_KEPT, ALL_TOGETHER, NO_MESSAGES, NO_NEWER_MESSAGES
from compaction.rewrites import MASKED, Mask, Snip
from compaction.rewriting import record_rewrites
from eventstore.records import Compaction, Custom
from projections.context.parts import view_of_part
from projections.tokens import counter
from tests.compaction.scripted import compactor, policy, prompting, turns
from tests.support import sentences
from tests.support.talk import assistant, call, result, user


def why(story, **parts):
    """Return a policy's reason to do nothing; the plan and the compaction must agree on it."""
    compacts = compactor(policy=policy(**parts))
    with story.log.snapshot() as snapshot:
        said = compacts.plan(snapshot, "s")
    assert isinstance(said, str)
    done = compacts.compact(story.writer)
    assert (done.outcome, done.reason) == ("nothing", said)
    return said


def test_what_is_kept_has_room_for_all(story):
    turns(story, 10)
    assert sentences.numbers(why(story)) == [20]


def test_one_message_or_answer_with_its_results_is_not_parted(story):
    story.says(user("x" * 400))
    assert why(story) == ALL_TOGETHER


def test_an_answer_is_not_parted_from_its_results(story):
    story.says(assistant(call("read")), result("x" * 400))
    assert why(story) == ALL_TOGETHER


@pytest.mark.parametrize("cut", [TailTurn(), LastMessages(messages=9)])
def test_a_policy_may_keep_all_that_there_is(story, cut):
    turns(story, 10)
    assert why(story, cut=cut) == ALL_KEPT


def test_a_session_may_have_no_messages(story):
    story.add(Custom(custom_type="x"))
    assert why(story) == NO_MESSAGES


def test_nothing_may_have_been_said_since_the_newest_compaction(story):
    turns(story, 20, 10)
    story.add(Compaction(summary="so far", first_kept_entry_id="e3", tokens_before=1))
    assert why(story) == NO_NEWER_MESSAGES


def test_a_policy_may_make_no_summaries(story):
    turns(story, 20, 10)
    assert sentences.names(why(story, cut=None), ["small", "rewrites"]) == ["small"]


def test_a_policy_may_have_rewrites_only(story):
    turns(story, 20, 10)
    said = why(story, cut=None, rewrites=(Mask(),))
    assert sentences.names(said, ["small", "rewrites"]) == ["small", "rewrites"]


def test_a_cut_that_stands_in_for_the_policys_says_why(story):
    turns(story, 10)
    compacts = compactor()
    with story.log.snapshot() as snapshot:
        said = compacts.plan(snapshot, "s", cut=KeepRecent(tokens=1_000))
    assert sentences.numbers(said) == [1_000]


LONG = "words " * 20
SNIPPED = "[snipped 4 messages from conversation middle]"


def read_by_a_summarizer(story, source, cut):
    """The texts of what a summarizer reads of a session that was masked and snipped, and of the beginning of a turn."""
    parts = (Mask(keep_observations=0), Snip(longest=4, head=1))
    record_rewrites(story.writer, parts, tokens=counter("utf16/4"))
    compacts = compactor(policy=policy(cut=cut, prompting=prompting(source=source)))
    with story.log.snapshot() as snapshot:
        plan = compacts.plan(snapshot, "s")
    return [[view_of_part(part).text for part in parts] for parts in (plan.to_summarize, plan.turn_prefix)]


@pytest.fixture
def masked(story):
    """A session of which there is something to mask, and something to snip."""
    story.says(user("begin"), assistant(LONG), user(LONG), assistant(LONG), user(LONG))
    story.says(assistant(call("read")), result("found " * 99), assistant("e"))
    return story


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("context", ["begin", SNIPPED, "", MASKED, "e"]),
        ("log", ["begin", *[LONG] * 4, "", "found " * 99, "e"]),
    ],
)
def test_a_summarizer_reads_what_the_context_shows_or_what_the_log_has(masked, source, read):
    assert read_by_a_summarizer(masked, source, LastMessages(messages=0)) == [read, []]


def test_from_the_log_the_beginning_of_a_turn_is_set_apart_and_what_is_kept_is_not_read(masked):
    masked.says(user("order"), assistant("f"), assistant("g"))
    _, prefix = read_by_a_summarizer(masked, "log", LastMessages(messages=1))
    assert prefix == ["order", "f"]


def test_what_is_kept_stays_as_the_context_shows_it(masked):
    record_rewrites(masked.writer, (Mask(keep_observations=0),), tokens=counter("utf16/4"))
    compacts = compactor(policy=policy(cut=LastMessages(messages=3), prompting=prompting(source="log")))
    with masked.log.snapshot() as snapshot:
        plan = compacts.plan(snapshot, "s")
    assert [view_of_part(part).text for part in plan.kept] == ["", MASKED, "e"]
