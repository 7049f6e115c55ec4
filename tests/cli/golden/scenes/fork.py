"""The scenes of `refold fork`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, named, the_tale
from tests.cli.tale import SESSION

SCENES: Final[Sequence[Scene]] = [
    help_of("fork"),
    Scene(
        the_tale,
        [
            f"fork {SESSION} --as again",
            f"fork {SESSION} --leaf root --as rooted",
            f"fork {SESSION} --whole",
            f"fork {SESSION} --as {SESSION}",
            f"fork {SESSION} --whole --leaf a3",
            f"fork {SESSION} --leaf nope",
            *named(f"fork {SESSION}"),
        ],
    ),
]
