"""The scenes of `refold label`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("label"),
    Scene(
        the_tale,
        [
            "label @last u2",
            "label @last u3",
            "label @last u3 'the end'",
            "label @last u2 ''",
            "label @last u2 ''",
            "label @last nope x",
            "label @last --title Grammar",
            "label @last --title ' '",
            "label @last",
        ],
    ),
]
