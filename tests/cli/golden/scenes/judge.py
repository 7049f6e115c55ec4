"""The scenes of `refold judge`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, the_demo, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("judge"),
    Scene(
        the_tale,
        [
            "judge @last",
            "judge @last --dry-run",
            "judge @last --summarizer extractive",
            "judge @last --prompts prompts",
        ],
    ),
    Scene(
        the_demo,
        ["judge demo-rate-limiter --dry-run", "judge demo-rate-limiter --boundary 1 --prompts prompts"],
    ),
]
