"""The scenes of `refold install`, without the harness's program, which not every machine has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, nothing

SCENES: Final[Sequence[Scene]] = [help_of("install"), Scene(nothing, ["install"])]
