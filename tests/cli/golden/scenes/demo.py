"""The scenes of `refold demo`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, nothing, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("demo"),
    Scene(nothing, ["demo"]),
    Scene(the_tale, ["--store store demo"]),
]
