"""The scenes of `refold pull`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.scenes.push import ONE_MORE, THERE, two_sessions
from tests.cli.golden.steps import help_of, nothing

SCENES: Final[Sequence[Scene]] = [
    help_of("pull"),
    Scene(nothing, ["pull other"]),
    Scene(
        two_sessions,
        [
            "push other",
            THERE,
            "pull other",
            "pull other",
            ONE_MORE,
            THERE,
            "pull other --json",
        ],
    ),
]
