"""The scenes of `refold purge`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import help_of, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("purge"),
    Scene(
        the_tale,
        [
            "purge @last",
            "purge @last --match parser.py",
            "purge @last u1 --yes",
            "purge @last --match parser.py --yes",
            "purge @last --match parser.py --yes",
            "verify",
        ],
    ),
]
