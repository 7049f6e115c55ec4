"""The scenes of `refold replay`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import a_changed_event, help_of, nothing, the_demo, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("replay"),
    Scene(nothing, ["replay", "replay nowhere", "replay nowhere --all"]),
    Scene(
        the_tale,
        [
            "replay @last",
            "replay @last --at recorded --with recorded --with drop --keep-recent 0",
            "replay @last --with unknown",
            "replay @last --with refold:unknown",
            "replay @last --with pi --with pi",
        ],
    ),
    Scene(
        the_demo,
        [
            "replay @last --at recorded --with recorded --with refold --with mask --keep-recent 500",
            "replay @last --at recorded --with recorded --fail-under 0.9",
        ],
    ),
    Scene(the_tale, [a_changed_event, "replay @last --at recorded --with recorded"]),
]
