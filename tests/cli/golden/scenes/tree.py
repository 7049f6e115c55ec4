"""The scenes of `refold tree`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import CONTINUE, help_of, lines, message, nothing, person, the_tale
from tests.support.talk import assistant

SCENES: Final[Sequence[Scene]] = [
    help_of("tree"),
    Scene(
        the_tale,
        [
            "tree @last",
            "tree @last --full",
            "tree @last --as-of 0",
            Run("append @last", lines({"type": "leaf_moved", "parentId": "b2", "id": "m1"})),
            "tree @last --full",
            Run("append @last", lines({"type": "custom", "customType": "x", "id": "r9", "parentId": None})),
            "tree @last",
        ],
    ),
    Scene(
        nothing,
        [
            Run(
                "append s",
                lines(
                    {**CONTINUE, "id": "e0"},
                    {**CONTINUE, "id": "e1", "metadata": {"compaction_continue": True}},
                    {
                        "type": "custom_message",
                        "customType": "compaction_continue",
                        "content": "Go on.",
                        "id": "e2",
                    },
                    message("e3", assistant("Next.")),
                    person("e4", "Thanks!"),
                ),
            ),
            "tree s",
            "tree s --full",
        ],
    ),
]
