"""What follows a compaction that nobody asked for, so that the agent goes on with the right thing.

Adding a continuation: a module with its part, a line in `CONTINUATIONS`, its tests, its docs.
"""

from __future__ import annotations

from typing import Final

from compaction.continuations.auto_continue import AUTO_CONTINUE
from compaction.continuations.continuation import Continuation, Continued, Situation
from compaction.continuations.none import NONE
from compaction.continuations.replay import REPLAY

__all__ = ["CONTINUATIONS", "NONE", "Continuation", "Continued", "Situation"]

CONTINUATIONS: Final[dict[str, Continuation]] = {each.name: each for each in (NONE, AUTO_CONTINUE, REPLAY)}
"""The continuations that a policy can name."""
