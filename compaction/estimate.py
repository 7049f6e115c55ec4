"""How large a context would be after a compaction, before a summary is asked for."""

from __future__ import annotations

from typing import Final

import msgspec

from compaction.composing import shrunk
from compaction.file_tags import with_file_tags
from compaction.plan import Plan
from compaction.policy.model import Policy, Prompting
from compaction.prompts import output_budget, turn_prefix_budget
from compaction.rewrites import shown_after, sized
from eventstore.records import Shown
from projections.tokens import Counter

USUAL: Final = 3_000
"""Tokens that `extractive` gives to the summary of a long conversation; models' are mostly shorter."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes in tokens: the whole context `at_most` and `likely`, and what is kept of it, as it would be shown.

    `shrinks` are the messages among those that would be shown shorter.
    """

    at_most: int
    likely: int
    kept: int
    shrinks: list[Shown]


def estimate(plan: Plan, policy: Policy, *, session: str, tokens: Counter) -> Estimate:
    """What a plan comes to, with summaries as long as they may get, and as long as they mostly are.

    Files that a policy shows again count for the bound only. A context that would get no smaller stays as it is.
    """
    shrinks = shrunk(session, plan, tokens)
    seen = sized(session, plan.kept, tokens)
    kept = sum(each.tokens for each in shown_after(seen, shrinks, tokens).messages)
    tags = tokens.of_text(with_file_tags("", plan.files))
    restored = policy.restoring.tokens if policy.restoring else 0
    summaries = _summaries(plan, policy.prompting, tokens)
    return Estimate(
        at_most=min(kept + tags + sum(budget for budget, _ in summaries) + restored, plan.tokens_before),
        likely=min(kept + tags + sum(min(USUAL, *each) for each in summaries), plan.tokens_before),
        kept=kept,
        shrinks=shrinks,
    )


def _summaries(plan: Plan, prompting: Prompting, tokens: Counter) -> list[tuple[int, int]]:
    """Of each summary that would be asked for, how long it may get, and how long what it stands for is."""
    budget = prompting.output or output_budget(prompting.reserve)
    everything = plan.tokens_before - plan.tokens_kept
    if not (plan.turn_prefix and prompting.turn_prefix):
        return [(budget, everything)]
    prefix = sum(tokens.count(plan.turn_prefix))
    return [(budget, everything - prefix), (turn_prefix_budget(prompting.reserve), prefix)]
