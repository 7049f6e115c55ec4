"""What belongs to a recovery, which is what a harness waits for after a refusal or a torn answer."""

from __future__ import annotations

from typing import Final

from compaction.change import Reason
from compaction.maintaining.answers import Newest
from projections.standpoint import ROOT, Leaf

_BEGINNINGS: Final[dict[Reason, str]] = {
    "overflow": "Context overflow recovery failed: ",
    "incomplete": "Incomplete response recovery failed: ",
}
_OTHERWISE: Final = "Auto-compaction failed: "


def is_recovery(reason: Reason) -> bool:
    """Whether a harness waits with a request until there is room for it."""
    return reason in _BEGINNINGS


def failure_message(reason: Reason, problem: str) -> str:
    """What is said where a context did not get smaller, as oh-my-pi says it."""
    return _BEGINNINGS.get(reason, _OTHERWISE) + problem


def leaf_without_failures(last: Newest) -> Leaf:
    """Where a session stands without the answers at its end that failed; None: where it stands."""
    if not last.has_failed:
        return None
    return last.before.id if last.before is not None else ROOT
