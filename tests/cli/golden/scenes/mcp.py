"""The scenes of `refold mcp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of

SCENES: Final[Sequence[Scene]] = [help_of("mcp")]
