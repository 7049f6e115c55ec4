"""The scenes of `refold policies`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import File, Scene
from tests.cli.golden.steps import help_of, nothing

SCENES: Final[Sequence[Scene]] = [
    help_of("policies"),
    Scene(
        nothing,
        [
            "policies",
            "policies show pi",
            "policies check pi",
            "policies check opencode",
            "policies check mask",
            "policies new mine",
            "policies new mine",
            "policies new ../mine",
            "policies new yours --from nope",
            "policies new yours --from mine",
            "policies show",
            "policies list --from pi",
            "policies rewrite x",
            "policies check nope",
            "policies",
        ],
    ),
    Scene(
        nothing,
        [
            File("config/policies/broken.toml", "memory = 1\ncut = 2\n"),
            File("config/policies/mine.toml", 'name = "pi"\n'),
            "policies",
            "policies check mine",
            File(
                "config/policies/mine.toml",
                'name = "mine"\nextends = "pi"\n[prompting]\nshort = "nope"\n',
            ),
            "policies check mine",
            File("x.toml", 'name = "x"\nextends = "oh-my-pi"\ncut = "none"\nrewrites = []\n'),
            "policies check x.toml",
            File("x.toml", 'name = "x"\nextends = "pi"\n[trigger]\nreserve = 300_000\n'),
            "policies check x.toml",
            File(
                "x.toml",
                'name = "x"\nextends = "pie"\nplacement = "below"\n[cut]\npart = "keep-recent"\ntokns = 1\n'
                '[prompting]\ntemplate = "nope"\nreserve = "all"\nsummarizer = "nobody"\n',
            ),
            "policies check x.toml",
            File("x.toml", 'extends = "pi"\n[cut]\npart = "keep-recent"\ntokens = 5\n'),
            "policies check x.toml",
            File("x.toml", "[[["),
            "policies check x.toml",
            File("x.toml", b"\xff"),
            "policies check x.toml",
        ],
    ),
]
