"""A policy and who is asked, with what a person has set in their place."""

from __future__ import annotations

import msgspec

from compaction.compactor import Compactor
from compaction.cuts import AnyCut, KeepRecent
from compaction.maintaining.settings import Settings
from compaction.policy.model import Policy, Prompting
from compaction.summarizers.asking import Asker
from compaction.summarizers.http import HttpSummarizer
from compaction.triggers import AnyTrigger, Threshold


def compactor_with(compactor: Compactor, settings: Settings) -> Compactor:
    """A compactor whose policy and summarizers are as they are set."""
    return msgspec.structs.replace(
        compactor,
        policy=policy_with(compactor.policy, settings),
        asker=asker_with(compactor.asker, settings),
    )


def policy_with(policy: Policy, settings: Settings) -> Policy:
    """A policy in which what is set leads over what its parts say; what is not set stays theirs.

    A threshold that is set leads over both of the policy's, and over a trigger that has none. A number of tokens to
    keep is a cut that keeps so many, in place of any other; a policy without a cut stays without.
    """
    return msgspec.structs.replace(
        policy,
        trigger=_trigger(policy.trigger, settings),
        cut=_cut(policy.cut, settings),
        prompting=_prompting(policy.prompting, settings),
    )


def asker_with(asker: Asker, settings: Settings) -> Asker:
    """Who is asked, the service at the endpoint that is set before all others."""
    if not settings.remote_enabled or not settings.remote_endpoint:
        return asker
    remote = HttpSummarizer(settings.remote_endpoint)
    return msgspec.structs.replace(asker, summarizers=[remote, *asker.summarizers])


def _trigger(trigger: AnyTrigger, settings: Settings) -> AnyTrigger:
    tokens, percent, reserve = settings.threshold_tokens, settings.threshold_percent, settings.reserve_tokens
    if tokens > 0 or percent > 0:
        trigger = trigger.firing_at(tokens, percent) or Threshold(tokens=tokens, percent=percent)
    return trigger if reserve is None else trigger.reserving(reserve)


def _cut(cut: AnyCut | None, settings: Settings) -> AnyCut | None:
    keep, reserve = settings.keep_recent_tokens, settings.reserve_tokens
    if cut is None:
        return None
    if keep is not None:
        return cut.keeping(keep) or KeepRecent(tokens=keep)
    return cut if reserve is None else cut.reserving(reserve)


def _prompting(prompting: Prompting, settings: Settings) -> Prompting:
    if settings.reserve_tokens is None:
        return prompting
    return msgspec.structs.replace(prompting, reserve=settings.reserve_tokens)
