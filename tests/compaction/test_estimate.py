"""Estimate the size of a context after a compaction."""

from __future__ import annotations

import msgspec
import pytest

from compaction.cuts import KeepRecent, TailTurn
from compaction.file_tags import with_file_tags
from compaction.part import Limits
from compaction.plan import Estimate, Plan, estimate, plan_compaction
from compaction.policy.model import Policy, Prompting, Restoring
from eventstore.records import FileOperations
from projections.context.cursor import resolve_cursor
from tests.compaction.rewrites.contexts import TOKENS, long
from tests.support.talk import Story, assistant, call, result, user

POLICY = Policy(name="x", cut=KeepRecent(tokens=1_000), prompting=Prompting(output=8_000))


def planned(story: Story, policy: Policy) -> Plan:
    with story.log.snapshot() as snapshot:
        plan = plan_compaction(
            snapshot, resolve_cursor(snapshot, "s"), policy, limits=Limits(window=200_000), tokens=TOKENS
        )
    assert isinstance(plan, Plan)
    return plan


def estimated(story: Story, policy: Policy) -> Estimate:
    return estimate(planned(story, policy), policy, TOKENS)


@pytest.fixture
def talk(story: Story) -> Story:
    """20,000 tokens, of which 1,000 are kept."""
    story.says(user(long(19_000)), user(long(1_000)))
    return story


def test_a_summary_may_get_as_long_as_its_budget_and_mostly_has_3_000_tokens(talk):
    found = estimated(talk, POLICY)
    assert (found.kept, found.likely, found.at_most) == (1_000, 4_000, 9_000)


def test_a_smaller_budget_bounds_both(talk):
    found = estimated(talk, msgspec.structs.replace(POLICY, prompting=Prompting(output=500)))
    assert (found.likely, found.at_most) == (1_500, 1_500)


def test_files_that_are_shown_again_may_be_as_many_tokens_as_the_policy_has_for_them(talk):
    found = estimated(talk, msgspec.structs.replace(POLICY, restoring=Restoring(tokens=2_000)))
    assert (found.likely, found.at_most) == (4_000, 11_000)


def test_a_context_that_gets_no_smaller_stays(story):
    story.says(user(long(1_500)), user(long(1_000)))
    found = estimated(story, POLICY)
    assert (found.likely, found.at_most) == (2_500, 2_500)


def test_a_split_turn_has_two_summaries(story):
    story.says(user(long(9_000)), assistant("Yes."), user(long(500)), assistant(long(1_000)))
    policy = msgspec.structs.replace(POLICY, prompting=Prompting(output=4_000, reserve=2_000))
    found = estimated(story, policy)
    assert (found.likely, found.at_most) == (1_000 + 3_000 + 500, 1_000 + 4_000 + 1_000)


def test_what_is_kept_counts_as_it_would_be_shown(story):
    story.says(user(long(9_000)), assistant(call("read", "k")))
    (target,) = story.says(result(long(20_000), tool="read", call_id="k"))
    policy = Policy(name="x", cut=TailTurn(), prompting=Prompting(turn_prefix=""))
    found = estimated(story, policy)
    assert [shown.target for shown in found.shrinks] == [target]
    assert found.kept < 10_000
    assert found.likely == found.kept + 3_000


def test_the_files_that_a_summary_lists_count_for_both(talk):
    plain = estimated(talk, POLICY)
    plan = msgspec.structs.replace(
        planned(talk, POLICY), files=FileOperations(read_files=["a" * 396 + ".py"], modified_files=[])
    )
    found = estimate(plan, POLICY, TOKENS)
    assert (
        found.likely - plain.likely
        == found.at_most - plain.at_most
        == TOKENS.of_text(with_file_tags("", plan.files))
    )
    assert found.likely - plain.likely > 100
