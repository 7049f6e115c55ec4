"""The scenes of `refold templates`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import File, Scene
from tests.cli.golden.steps import help_of, nothing

OWN: Final = '+++\nname = "{name}"\nversion = 7\nsections = ["Goal"]\n+++\nSay the goal.\n\n## Goal\n'

SCENES: Final[Sequence[Scene]] = [
    help_of("templates"),
    Scene(
        nothing,
        [
            "templates",
            "templates show short",
            "templates check turn-prefix",
            "templates new short",
            "templates new short",
            "templates new ../mine --from short",
            "templates new mine",
            "templates new mine --from frist",
            "templates show nope",
            "templates check",
            "templates show short --from branch",
        ],
    ),
    Scene(
        nothing,
        [
            File("config/templates/compaction.md", OWN.format(name="compaction")),
            "templates check compaction",
            File("config/templates/broken.md", "no front matter"),
            "templates",
            "templates new mine --from broken",
            *(
                step
                for written in (
                    '+++\nname = "x"\nversion = 1\nsections = ["Goal", "Mood"]\n+++\nSay it.\n\n## Goal\n',
                    '+++\nname = "x"\nversion = 1\nsections = ["Goal"]\n+++\nSay it.\n\n## Goal\n\n## Mood\n',
                    '+++\nname = "x"\n+++\nSay it.',
                    '+++\nname = "y"\nversion = 1\n+++\nSay it.',
                    '+++\nname = "x"\nversion = 0\nsection = []\n+++\nSay it.',
                    b"\xff",
                )
                for step in (File("config/templates/x.md", written), "templates check x")
            ),
        ],
    ),
]
