"""The scenes of `refold bench`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import help_of, nothing, the_tale
from tests.cli.tale import SESSION


def _ticking() -> dict[str, object]:
    """Return a clock by which everything takes 20 ms."""
    ticks = count()
    return {"cli.commands.bench._clock": lambda: next(ticks) / 50}


SCENES: Final[Sequence[Scene]] = [
    help_of("bench"),
    Scene(the_tale, [Run("bench", patch=_ticking()), Run("bench @last --json", patch=_ticking())]),
    Scene(the_tale, [f"undo {SESSION} c1", Run("bench", patch=_ticking())]),
    Scene(nothing, [Run("append s"), Run("bench", patch=_ticking()), "bench nobody"]),
]
