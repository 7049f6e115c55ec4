"""How the demo's agent keeps its context small: by a policy of its own, as anybody may write one, and no model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from compaction.compactor import Compactor
from compaction.maintaining.maintainer import Maintainer
from compaction.navigation.navigator import Navigator
from compaction.part import Limits
from compaction.policies.reading import parse
from compaction.summarizers.asking import Asker
from compaction.summarizers.extractive import ExtractiveSummarizer
from projections.tokens import counter

POLICY: Final = parse(
    """
    name = "frugal"
    extends = "pi"
    description = "Makes room over 24,500 tokens: 540 for a summary of all but the newest turn."

    [trigger]
    part = "threshold"
    tokens = 24_500

    [[rewrites]]
    part = "prune-turns"
    turns = 1
    protect = 0
    savings = 8_000

    [cut]
    part = "keep-recent"
    tokens = 1_000

    [prompting]
    part = "prompting"
    output = 540
    """,
    source="frugal",
)

_LIMITS: Final = Limits(window=200_000)
_COUNTER: Final = counter(POLICY.counter)
# What is recorded of a request has its duration: none, so that every play is the same.
_ASKER: Final = Asker(summarizers=[ExtractiveSummarizer()], seconds=lambda: 0.0)


def maintainer(now: Callable[[], int]) -> Maintainer:
    """What looks at the context after each turn; `now` gives epoch milliseconds."""
    compactor = Compactor(policy=POLICY, asker=_ASKER, limits=_LIMITS, tokens=_COUNTER)
    return Maintainer(compactor=compactor, now=now)


def navigator(*, summarizes: bool) -> Navigator:
    """What goes elsewhere in the tree, with a summary of what is left or without."""
    return Navigator(limits=_LIMITS, tokens=_COUNTER, asker=_ASKER if summarizes else None)
