"""The scenes of `refold rules`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, the_demo, the_tale, the_talk

SCENES: Final[Sequence[Scene]] = [
    help_of("rules"),
    Scene(the_tale, ["rules @last"]),
    Scene(the_talk, ["rules @last"]),
    Scene(the_demo, ["rules demo-rate-limiter", "rules demo-rate-limiter --leaf '#131'"]),
]
