"""The scenes of `refold show`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("show"),
    Scene(the_tale, ["show @last u1", "show @last c1", "show @last '#16'", "show @last u1 --raw"]),
]
