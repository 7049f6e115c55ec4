"""oh-my-pi's: a word to go on that is no person's."""

from __future__ import annotations

from typing import Final

from compaction.continuations.continuation import Continuation, Continued, Situation
from eventstore.records import CustomMessage
from projections.continuation import MARK

_AGENT_SAYS: Final = "Go on with the next step of the work, unless all of it is done."


def _by_agent(_situation: Situation) -> Continued:
    """Each harness tells its model what an extension says in its own role."""
    record = CustomMessage(custom_type=MARK, content=_AGENT_SAYS, display=False)
    return Continued(branch="auto-continue", reason="the policy says so", record=record)


AUTO_CONTINUE: Final = Continuation(
    name="auto-continue", after=_by_agent, reasons=frozenset({"threshold"}), only_after_turn=True
)
"""Due at the end of a turn only: else a request is on its way already."""
