"""The scenes of `refold verify`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import a_changed_event, help_of, nothing, the_tale
from tests.cli.running import Refold
from tests.support.tampering import tables


def a_missing_event(refold: Refold) -> None:
    with tables(refold.store) as stored:
        stored.delete("events", stored.items("events")[3][0])


def a_missing_id(refold: Refold) -> None:
    with tables(refold.store) as stored:
        stored.delete("ids", stored.items("ids")[0][0])


def a_missing_position(refold: Refold) -> None:
    with tables(refold.store) as stored:
        stored.delete("positions", stored.items("positions")[-1][0])


def a_garbled_event(refold: Refold) -> None:
    with tables(refold.store) as stored:
        stored.put("events", stored.items("events")[2][0], b"\xff" * 40)


SCENES: Final[Sequence[Scene]] = [
    help_of("verify"),
    Scene(nothing, [Run("append s"), "verify"]),
    Scene(the_tale, ["verify"]),
    *(
        Scene(the_tale, [change, "verify"])
        for change in (
            a_changed_event,
            a_missing_event,
            a_missing_id,
            a_missing_position,
            a_garbled_event,
        )
    ),
]
