"""A person's settings of automatic compaction, and the policy and summarizers that they lead to."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from compaction.compactor import Compactor
from compaction.cuts import AnyCut, KeepRecent
from compaction.part import Count, Limits, Positive
from compaction.policy.model import Policy, Prompting
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.http import HttpSummarizer
from compaction.triggers import AnyTrigger, Threshold
from compaction.validation import InvalidInputError, ValidationIssue, key_path

TokenThreshold = Annotated[int, msgspec.Meta(ge=-1)]
"""A threshold; -1 and 0 set none."""
Percent = Annotated[int, msgspec.Meta(ge=-1, le=100)]
"""A threshold as a percentage; -1 and 0 set none."""


class Promotion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A larger model to go on with in place of compacting."""

    model: str
    window: Positive
    output: Count = 32_000

    @property
    def limits(self) -> Limits:
        """The model's limits."""
        return Limits(window=self.window, output=self.output)


class BranchSummaries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of branch summaries: on or off, and the tokens of the window that stay free for them.

    None: 16,384, and in a small window 15 % of it.
    """

    enabled: bool = False
    reserve_tokens: Count | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of compaction, by oh-my-pi's names with `_`, and with its defaults.

    A compaction that a person asks for heeds only what says how it is made. That are `reserve_tokens` and
    `keep_recent_tokens`, which lead over what the policy's parts say (pi's and oh-my-pi's: 16,384 and 20,000),
    and `remote_endpoint`: with `remote_enabled` the service there is asked for summaries before all others.

    The others say when. `threshold_tokens`, or else `threshold_percent`, leads over the policy's trigger.
    `subtracts_savings`: what rewrites have saved since the last measured call is taken off the size that decides.
    `idle_threshold_tokens` and `idle_timeout_seconds` say when an idle session is compacted. `most_failures` in a
    row stop automatic compaction until one goes through or a person asks. `promotion` is a larger model.
    """

    enabled: bool = True
    strategy: Literal["context-full", "handoff", "off"] = "context-full"
    reserve_tokens: Positive | None = None
    keep_recent_tokens: Positive | None = None
    threshold_percent: Percent = -1
    threshold_tokens: TokenThreshold = -1
    auto_continue: bool = True
    remote_enabled: bool = True
    remote_endpoint: str | None = None
    idle_enabled: bool = False
    idle_threshold_tokens: Count = 200_000
    idle_timeout_seconds: Count = 300
    most_failures: Positive = 3
    subtracts_savings: bool = True
    promotion: Promotion | None = None
    branch_summary: BranchSummaries = BranchSummaries()

    @property
    def is_automatic(self) -> bool:
        """True if anything is compacted that nobody asked for."""
        return self.enabled and self.strategy != "off"

    def find_issues(self, limits: Limits) -> list[ValidationIssue]:
        """Return what of it a model cannot have."""
        given = {
            ("reserve_tokens",): self.reserve_tokens,
            ("keep_recent_tokens",): self.keep_recent_tokens,
            ("branch_summary", "reserve_tokens"): self.branch_summary.reserve_tokens,
        }
        window, remedy = f"the window has {limits.window:,} tokens", "give fewer, or tell of a larger window"
        return [
            ValidationIssue(key_path(keys), f"it is {tokens:,}, and {window}", remedy)
            for keys, tokens in given.items()
            if tokens is not None and tokens >= limits.window
        ]

    def check(self, limits: Limits) -> None:
        """Raise InvalidInputError where a model cannot have what is set."""
        if find_issues := self.find_issues(limits):
            raise InvalidInputError("settings", find_issues)


def compactor_with(compactor: Compactor, settings: Settings) -> Compactor:
    """Return a compactor whose policy and summarizers are as they are set."""
    return msgspec.structs.replace(
        compactor,
        policy=policy_with(compactor.policy, settings),
        chain=with_remote_summarizer(compactor.chain, settings),
    )


def policy_with(policy: Policy, settings: Settings) -> Policy:
    """Return a policy in which what is set leads over what its parts say; what is not set stays theirs.

    A threshold that is set leads over both of the policy's, and over a trigger that has none. A number of tokens to
    keep is a cut that keeps so many, in place of any other; a policy without a cut stays without.
    """
    return msgspec.structs.replace(
        policy,
        trigger=_trigger(policy.trigger, settings),
        cut=_cut(policy.cut, settings),
        prompting=_prompting(policy.prompting, settings),
    )


def with_remote_summarizer(chain: SummarizerChain, settings: Settings) -> SummarizerChain:
    """Return the summarizers to ask, the service at the configured endpoint first."""
    if not settings.remote_enabled or not settings.remote_endpoint:
        return chain
    remote = HttpSummarizer(settings.remote_endpoint)
    return msgspec.structs.replace(chain, summarizers=[remote, *chain.summarizers])


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
