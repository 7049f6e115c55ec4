"""The scenes of `refold undo`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("undo"),
    Scene(
        the_tale,
        [
            "undo @last",
            *(f"undo @last {event}" for event in ("u3", "b2", "s1", "nope", "''")),
            "undo @last c1",
            "undo @last",
            "undo @last 00000001",
            "go @last a3 --label x",
            "undo @last",
        ],
    ),
]
