"""What a person may set of automatic compaction."""

from __future__ import annotations

from typing import Literal

import msgspec

from compaction.part import Count, Limits, Positive


class Promotion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A larger model to go on with in place of compacting."""

    model: str
    window: Positive
    output: Count = 32_000

    @property
    def limits(self) -> Limits:
        """What the model takes."""
        return Limits(window=self.window, output=self.output)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of automatic compaction, with oh-my-pi's defaults; a person's own compaction heeds none of them.

    `idle_threshold_tokens` and `idle_timeout_seconds` say when an idle session is compacted. `failures` in a
    row stop automatic compaction until one goes through or a person asks. `promotion` is a larger model.
    """

    enabled: bool = True
    strategy: Literal["context-full", "handoff", "off"] = "context-full"
    auto_continue: bool = True
    idle_enabled: bool = False
    idle_threshold_tokens: Count = 200_000
    idle_timeout_seconds: Count = 300
    failures: Positive = 3
    less_saved: bool = True
    promotion: Promotion | None = None
