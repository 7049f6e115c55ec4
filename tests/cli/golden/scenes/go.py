"""The scenes of `refold go`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import (
    EXTRACTING,
    broken,
    by_a_service,
    closed,
    help_of,
    hooked,
    the_tale,
)
from tests.support.local_http import answers, refuses

SCENES: Final[Sequence[Scene]] = [
    help_of("go"),
    Scene(the_tale, ["go @last a3", "undo @last", "go @last u2"]),
    Scene(
        the_tale,
        [
            "go @last i1",
            "go @last b1 --dry-run",
            "go @last root --dry-run",
            "go @last nope",
            "go @last i1 --summary Nothing.",
            "go @last a3 --summary ''",
            "go @last root --label x",
            Run("go @last b2 --summary -", b"\xff"),
            "go @last b2 --summary x --summarize",
            f"go @last b2 {EXTRACTING}",
            f"go @last a3 --summarize 'Be brief.' {EXTRACTING} --dry-run",
            f"go @last a3 --summarize 'Be brief.' {EXTRACTING}",
        ],
    ),
    Scene(the_tale, ["go @last b2 --summarize"]),
    Scene(the_tale, [hooked(f"go @last b2 --summarize {EXTRACTING}", before_move=closed)]),
    Scene(the_tale, [hooked(f"go @last b2 --summarize {EXTRACTING}", before_move=broken)]),
    Scene(the_tale, ["go @last b2 --summary 'It was fixed.' --label 'once more'"]),
    Scene(the_tale, ["label @last a3 here", f"go @last i1 --summarize {EXTRACTING}"]),
    Scene(
        the_tale,
        [by_a_service("go @last b2 --summarize")],
        [answers({"summary": "## Goal\nto fix it"})],
    ),
    Scene(the_tale, [by_a_service("go @last b2 --summarize")], [refuses(400, "no")]),
]
