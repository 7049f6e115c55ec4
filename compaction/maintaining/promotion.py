"""Whether a larger model is gone on with in place of a compaction."""

from __future__ import annotations

from compaction.maintaining.settings import Promotion
from compaction.trigger import Trigger


def is_promoted(promotion: Promotion | None, *, tokens: int, trigger: Trigger, in_use: str) -> bool:
    """Whether a larger model is set, is not `in_use` (its name, or provider/name) and has room for so many tokens."""
    if promotion is None or trigger.fires(tokens, promotion.limits):
        return False
    return promotion.model not in (in_use, in_use.partition("/")[2])
