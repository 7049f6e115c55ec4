"""The scenes of `refold sync`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.cli import tale
from tests.cli.golden import Run, Scene
from tests.cli.golden.scenes.importing import HOME, sessions_of_three_harnesses
from tests.cli.golden.steps import help_of, nothing
from tests.cli.running import Refold
from tests.support.pi_files import said

PROJECT: Final = Path("home", ".pi", "agent", "sessions", "--home-me-shop--")


def one_grows_and_one_is_damaged(refold: Refold) -> None:
    sessions_of_three_harnesses(refold)
    refold("import", "home/.pi/agent/sessions")
    (PROJECT / "a.jsonl").write_bytes(tale.tale() + said("one more", "u9", "i1"))
    (PROJECT / "bad.jsonl").write_text("a shopping list\n")
    os.utime(PROJECT / "a.jsonl", (1_766_000_000, 1_766_000_000))


SCENES: Final[Sequence[Scene]] = [
    help_of("sync"),
    Scene(nothing, [Run("sync", env=HOME)]),
    Scene(
        sessions_of_three_harnesses,
        [Run("sync --dry-run", env=HOME), Run("sync", env=HOME), Run("sync", env=HOME)],
    ),
    Scene(one_grows_and_one_is_damaged, [Run("sync", env=HOME), Run("sync --home home --dry-run", env=HOME)]),
]
