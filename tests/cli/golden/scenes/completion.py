"""The scenes of `refold completion`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, nothing

SCENES: Final[Sequence[Scene]] = [
    help_of("completion"),
    Scene(nothing, [f"completion {each}" for each in ("bash", "zsh", "fish")]),
]
