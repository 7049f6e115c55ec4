"""The scenes of `refold files`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("files"),
    Scene(the_tale, ["files @last", "files @last --leaf a1"]),
]
