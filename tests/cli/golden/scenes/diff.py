"""The scenes of `refold diff`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import CONTINUE, help_of, lines, person, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("diff"),
    Scene(
        the_tale,
        [
            "diff @last b2 s1",
            "diff @last b2 s1 --all",
            "diff @last a3 a4",
            "diff @last root nope",
            "diff @last root '#17'",
            "diff @last root '#99'",
            Run(
                "append s",
                lines(
                    person("e1", "hi"),
                    {**CONTINUE, "id": "e2", "metadata": {"compaction_continue": True}},
                ),
            ),
            "diff s e1 e2",
        ],
    ),
]
