"""The scenes of `refold prune`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import File, Run, Scene
from tests.cli.golden.steps import help_of, the_talk

MASK: Final = File("all.toml", 'name = "all"\nrewrites = [{part = "mask", keep_observations = 0}]\n')

SCENES: Final[Sequence[Scene]] = [
    help_of("prune"),
    Scene(
        the_talk,
        [
            MASK,
            "prune @last --policy all.toml --dry-run",
            File(
                "exact.toml",
                'name = "exact"\ncounter = "o200k"\nrewrites = [{part = "mask", keep_observations = 0}]\n',
            ),
            Run(
                "prune @last --policy exact.toml --dry-run",
                patch={"projections.tokens._o200k": lambda _: None},
            ),
            "prune @last --policy all.toml",
            "prune @last --policy all.toml",
            "undo @last",
            File(
                "two.toml",
                'name = "two"\nrewrites = [{part = "mask", keep_observations = 0}, {part = "micro"}]\n',
            ),
            "prune @last --policy two.toml --dry-run",
            "prune @last --policy pi",
            File("snip.toml", 'name = "snip"\nrewrites = [{part = "snip", longest = 5, head = 2}]\n'),
            "prune @last --policy snip.toml",
            "prune @last",
        ],
    ),
]
