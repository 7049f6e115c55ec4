"""The scenes of `refold log`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import CONTINUE, help_of, lines, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("log"),
    Scene(
        the_tale,
        [
            "log @last",
            "log @last --kind message --kind compactoin",
            "log @last --role usr",
            Run(
                "append @last",
                lines(
                    {"type": "thinking_level_change", "id": "t1", "thinkingLevel": "high"},
                    {**CONTINUE, "id": "g1", "metadata": {"compaction_continue": True}},
                    {"type": "decision", "outcome": "skip", "reason": "small"},
                ),
            ),
            "log @last",
        ],
    ),
]
