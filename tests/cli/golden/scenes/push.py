"""The scenes of `refold push`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import CUSTOM, a_changed_event, help_of, nothing, the_tale
from tests.cli.running import Refold

ONE_MORE: Final = Run("append forked", stdin=CUSTOM)
THERE: Final = Run("--store other append forked", stdin=CUSTOM)


def two_sessions(refold: Refold) -> None:
    the_tale(refold)
    refold("fork", "@last", "--as", "forked")


SCENES: Final[Sequence[Scene]] = [
    help_of("push"),
    Scene(nothing, ["push other"]),
    Scene(
        two_sessions,
        [
            "push other --session forked",
            "push other",
            "push other",
            ONE_MORE,
            THERE,
            "push other",
            ONE_MORE,
            "push other",
            "push other --json",
            "push other --session nowhere",
            "push store",
            "push ''",
        ],
    ),
    Scene(the_tale, [a_changed_event, "push other"]),
]
