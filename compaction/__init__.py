"""Event producers: what makes contexts smaller appends events, and what those say is recomputed from the log.

All but the lightest names are imported when they are first asked for: who undoes needs no summarizer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

# Not put off: these functions go by the names of their modules, which would stand in their place once imported.
from compaction.fork import fork
from compaction.undo import plan_undo, undo

if TYPE_CHECKING:
    from compaction.compactor import Compactor
    from compaction.composing import record_compaction
    from compaction.maintaining.maintainer import Maintainer
    from compaction.navigation.branch import record_branch_summary
    from compaction.navigation.navigate import go, move_to, plan_move
    from compaction.navigation.navigator import Navigator
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
    "Maintainer": "compaction.maintaining.maintainer",
    "Navigator": "compaction.navigation.navigator",
    "go": "compaction.navigation.navigate",
    "move_to": "compaction.navigation.navigate",
    "plan_move": "compaction.navigation.navigate",
    "record_branch_summary": "compaction.navigation.branch",
    "record_compaction": "compaction.composing",
    "record_rewrite": "compaction.rewriting",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
