"""Make contexts smaller without a model by showing old content differently.

To add a rewrite, write a module with its part, its name in `AnyRewrite`, tests and docs.
"""

from __future__ import annotations

from typing import Final

from compaction.rewrites.evict import Evict
from compaction.rewrites.mask import Mask
from compaction.rewrites.micro import Micro
from compaction.rewrites.offload import Offload
from compaction.rewrites.prune import Prune
from compaction.rewrites.prune_turns import PruneTurns
from compaction.rewrites.sized_context import SizedContext, SizedMessage, shown_after, sized
from compaction.rewrites.snip import Snip
from compaction.rewrites.supersede import Supersede
from compaction.rewrites.useless import Useless

__all__ = [
    "LAYERS",
    "AnyRewrite",
    "Evict",
    "Mask",
    "Micro",
    "Offload",
    "Prune",
    "PruneTurns",
    "SizedContext",
    "SizedMessage",
    "Snip",
    "Supersede",
    "Useless",
    "shown_after",
    "sized",
]

AnyRewrite = Evict | Mask | Micro | Offload | Prune | PruneTurns | Snip | Supersede | Useless
"""The rewrites that a policy can name."""

LAYERS: Final = (Offload, Snip, Micro)
"""Rewrites that keep this order: a later one leaves nothing for those before it to save."""
