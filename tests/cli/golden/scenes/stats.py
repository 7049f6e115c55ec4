"""The scenes of `refold stats`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import help_of, nothing, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("stats"),
    Scene(the_tale, ["stats", "stats --by model", "stats --by day --json"]),
    Scene(nothing, [Run("append s"), "stats"]),
]
