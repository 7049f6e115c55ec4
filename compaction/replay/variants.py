"""Define the variants that a replay tries at each boundary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.policy.model import Policy
from compaction.replay.program import Program
from compaction.summarizers.chain import SummarizerChain
from compaction.templates import Source

RECORDED: Final = "recorded"
"""The name of the variant that does what the session did."""
DROP: Final = "drop"
"""The name of the variant that keeps the newest messages and writes no summary."""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """A policy under a name, with the summarizers and the template to use.

    `policy` is None for the recorded compaction itself. `drops`: keep what the policy keeps, without a summary.
    `template` replaces the policy's, "" for none; it is looked up in `sources` first. A `program` compacts instead
    of a policy, which is then None.
    """

    name: str
    policy: Policy | None
    chain: SummarizerChain
    template: str = ""
    sources: Sequence[Source] = ()
    drops: bool = False
    program: Program | None = None
