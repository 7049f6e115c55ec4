"""Asking hooks whether an automatic compaction may be, before anything of it is put down."""

from __future__ import annotations

import msgspec

from compaction.compactor import Compactor
from compaction.hooks import Cancel, Hooks, Troubles, decided
from compaction.plan import Plan


class AskedFirst(msgspec.Struct, frozen=True, kw_only=True):
    """What hooks said of a plan: why they call it off, None if they do not, and what went wrong in them.

    `compactor` is one whose hooks say the same again without being asked.
    """

    compactor: Compactor
    called_off: str | None = None
    troubles: list[str] = []


def asked_first(compactor: Compactor, plan: Plan) -> AskedFirst:
    """Ask the hooks of a compactor about a plan: whoever asks all the time has to know before it is recorded."""
    troubles = Troubles()
    said = decided(compactor.hooks, "before_compaction", plan, troubles)
    if isinstance(said, Cancel):
        return AskedFirst(compactor=compactor, called_off=said.reason, troubles=troubles)
    others = [msgspec.structs.replace(each, before_compaction=None) for each in compactor.hooks]
    hooks = others if said is None else [Hooks(name="asked", before_compaction=lambda _: said), *others]
    return AskedFirst(compactor=msgspec.structs.replace(compactor, hooks=hooks), troubles=troubles)
