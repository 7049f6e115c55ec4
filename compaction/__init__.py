"""Append the events that make contexts smaller; contexts are recomputed from the log.

Names are imported on first use, so that undo does not load a summarizer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from compaction.branching.fork import fork
    from compaction.branching.move import Navigator, go, move_to
    from compaction.branching.move_plan import plan_move
    from compaction.branching.summarize import record_branch_summary
    from compaction.branching.undo import plan_undo, undo
    from compaction.compactor import Compactor
    from compaction.composing import record_compaction
    from compaction.maintainer import Maintainer
    from compaction.rewriting import record_rewrite

__all__ = [
    "Compactor",
    "Maintainer",
    "Navigator",
    "fork",
    "go",
    "move_to",
    "plan_move",
    "plan_undo",
    "record_branch_summary",
    "record_compaction",
    "record_rewrite",
    "undo",
]

_MODULES: Final = {
    "Compactor": "compaction.compactor",
    "Maintainer": "compaction.maintainer",
    "Navigator": "compaction.branching.move",
    "fork": "compaction.branching.fork",
    "go": "compaction.branching.move",
    "move_to": "compaction.branching.move",
    "plan_move": "compaction.branching.move_plan",
    "plan_undo": "compaction.branching.undo",
    "record_branch_summary": "compaction.branching.summarize",
    "record_compaction": "compaction.composing",
    "record_rewrite": "compaction.rewriting",
    "undo": "compaction.branching.undo",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
