"""The scenes of `refold search`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("search"),
    Scene(
        the_tale,
        [
            "search parser",
            "search --gone parser",
            "search '\"the parser\" fix'",
            "search tests --json",
            "search nowhere",
            "search '\"not closed'",
            "search '?!'",
        ],
    ),
]
