"""The scenes of `refold hook`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, the_demo, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("hook"),
    Scene(the_tale, ["hook", "hook --explain @last"]),
    Scene(the_demo, ["hook --explain demo-rate-limiter"]),
]
