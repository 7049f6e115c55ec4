"""The scenes of `refold timeline`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import CONTINUE, help_of, lines, nothing, person, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("timeline"),
    Scene(the_tale, ["timeline @last", "timeline @last --full", "timeline @last --leaf a3"]),
    Scene(
        nothing,
        [
            Run(
                "append s",
                lines(person("e1", "hello"), {**CONTINUE, "metadata": {"compaction_continue": True}}),
            ),
            "timeline s",
            "timeline s --full",
        ],
    ),
]
