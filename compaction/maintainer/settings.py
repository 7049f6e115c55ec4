"""Define a person's settings of automatic compaction, and apply them to policies."""

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
"""A threshold in tokens; -1 and 0 mean none."""
Percent = Annotated[int, msgspec.Meta(ge=-1, le=100)]
"""A threshold in percent; -1 and 0 mean none."""


class Promotion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A larger model to switch to instead of compacting."""

    model: str
    window: Positive
    output: Count = 32_000

    @property
    def limits(self) -> Limits:
        """The model's limits."""
        return Limits(window=self.window, output=self.output)


class BranchSummaries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of branch summaries: on or off, and the reserved tokens of the window.

    None means 16,384, or 15 % of a small window.
    """

    enabled: bool = False
    reserve_tokens: Count | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of compaction, with oh-my-pi's names (in snake case) and defaults.

    A compaction that a person requests obeys only `reserve_tokens`, `keep_recent_tokens` and
    `remote_endpoint`. The first two override the policy's parts (16,384 and 20,000 in pi and oh-my-pi). With
    `remote_enabled`, the service at `remote_endpoint` is asked before all other summarizers.

    The others control automatic compaction. `threshold_tokens`, or else `threshold_percent`, overrides the
    policy's trigger. With `subtracts_savings`, tokens saved by rewrites since the last measured call are
    subtracted from the measured size. `idle_threshold_tokens` and `idle_timeout_seconds` control when an idle
    session is compacted. `most_failures` in a row stop automatic compaction until one succeeds or a person
    asks. `promotion` is a larger model.
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
        """True if automatic compaction is on."""
        return self.enabled and self.strategy != "off"

    def find_issues(self, limits: Limits) -> list[ValidationIssue]:
        """Return the settings that do not fit a model's window."""
        given = {
            ("reserve_tokens",): self.reserve_tokens,
            ("keep_recent_tokens",): self.keep_recent_tokens,
            ("branch_summary", "reserve_tokens"): self.branch_summary.reserve_tokens,
        }
        window, remedy = f"the window has {limits.window:,} tokens", "give fewer, or a larger window"
        return [
            ValidationIssue(key_path(keys), f"it is {tokens:,}, and {window}", remedy)
            for keys, tokens in given.items()
            if tokens is not None and tokens >= limits.window
        ]

    def check(self, limits: Limits) -> None:
        """Raise InvalidInputError if settings do not fit a model's window."""
        if find_issues := self.find_issues(limits):
            raise InvalidInputError("settings", find_issues)


def compactor_with(compactor: Compactor, settings: Settings) -> Compactor:
    """Return a compactor with the settings applied to its policy and summarizers."""
    return msgspec.structs.replace(
        compactor,
        policy=policy_with(compactor.policy, settings),
        chain=with_remote_summarizer(compactor.chain, settings),
    )


def policy_with(policy: Policy, settings: Settings) -> Policy:
    """Return a policy with the settings applied; unset ones leave its parts unchanged.

    A threshold overrides both of the policy's, and a trigger that has none. A number of tokens to keep
    replaces any other cut; a policy without a cut stays without.
    """
    return msgspec.structs.replace(
        policy,
        trigger=_trigger(policy.trigger, settings),
        cut=_cut(policy.cut, settings),
        prompting=_prompting(policy.prompting, settings),
    )


def with_remote_summarizer(chain: SummarizerChain, settings: Settings) -> SummarizerChain:
    """Return the chain with the configured service in front."""
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
