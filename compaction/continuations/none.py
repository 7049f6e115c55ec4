"""Nothing follows."""

from __future__ import annotations

from typing import Final

from compaction.continuations.continuation import Continuation, Continued, Situation


def _nothing(_situation: Situation) -> Continued:
    return Continued(branch="none", reason="the policy continues with nothing")


NONE: Final = Continuation(
    name="none", after=_nothing, reasons=frozenset({"threshold"}), only_after_turn=True
)
