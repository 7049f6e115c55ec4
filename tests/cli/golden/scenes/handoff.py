"""The scenes of `refold handoff`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import (
    CUSTOM,
    EXTRACTING,
    by_a_model,
    help_of,
    named,
    the_tale,
    the_talk,
)
from tests.cli.tale import SESSION
from tests.support.messages_api import errs

SCENES: Final[Sequence[Scene]] = [
    help_of("handoff"),
    Scene(
        the_talk,
        [
            f"handoff @last {EXTRACTING}",
            f"handoff {SESSION} 'Be brief.' {EXTRACTING} --as next",
            f"handoff {SESSION} {EXTRACTING} --as {SESSION}",
            f"handoff {SESSION} {EXTRACTING} --as 'a\x1bb'",
            Run("append empty", CUSTOM),
            f"handoff empty {EXTRACTING}",
        ],
    ),
    Scene(
        the_tale,
        named(f"handoff {SESSION} {EXTRACTING}"),
    ),
    Scene(
        the_talk,
        [by_a_model("handoff @last")],
        [errs(400, "no", "invalid_request_error")],
    ),
]
