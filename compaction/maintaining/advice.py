"""What a harness is told to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Do = Literal["nothing", "retry", "switch-model", "continue"]


class Advice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a harness should do; what belongs to it in the log is appended already.

    `do`: nothing; send the request again; go on with `model`; or send a request right away, for the message
    that goes on is in the log. `session`: go on in that one, which has been begun, right away or with what comes
    next. `history_rewritten`: the context is not what it was with something more behind it, so that provider
    sessions which hold the old prefix have to be closed. `events` are the ids of what was appended, `reason` says
    why, `error` what went wrong, `warning` that the context is too large still, and why.
    """

    do: Do = "nothing"
    reason: str = ""
    history_rewritten: bool = False
    model: str | None = None
    session: str | None = None
    events: list[str] = []
    tokens: int | None = None
    error: str | None = None
    warning: str | None = None


def after(events: Sequence[str], advice: Advice, *, rewritten: bool = False) -> Advice:
    """Advice with what was appended before it; `rewritten`: that made the context another."""
    return msgspec.structs.replace(
        advice,
        events=[*events, *advice.events],
        history_rewritten=advice.history_rewritten or rewritten,
    )
