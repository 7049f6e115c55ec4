"""The scenes of `refold backup`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Scene
from tests.cli.golden.steps import a_changed_event, help_of, the_tale

SCENES: Final[Sequence[Scene]] = [
    help_of("backup"),
    Scene(
        the_tale,
        ["backup copy", "backup copy", "backup gone/copy", a_changed_event, "backup another"],
    ),
]
