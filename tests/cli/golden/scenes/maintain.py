"""The scenes of `refold maintain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import File, Run, Scene
from tests.cli.golden.steps import EXTRACTING, NO_TEMPLATE, by_a_service, help_of, the_talk
from tests.support.local_http import refuses

AFTER_TURN: Final = '{"on":"after_turn"}\n'
TIGHT: Final = File(
    "tight.toml",
    'name = "tight"\nextends = "pi"\ncontinuation = "auto-continue"\n'
    '[trigger]\nreserve = 300\n[cut]\npart = "keep-recent"\ntokens = 250\n',
)

GREEDY: Final = File("greedy.toml", 'name = "greedy"\nextends = "pi"\n[trigger]\nreserve = 1_000\n')
NO_TOOLS: Final = File("tools.json", "{}")

SCENES: Final[Sequence[Scene]] = [
    help_of("maintain"),
    Scene(
        the_talk,
        [
            TIGHT,
            Run(
                f"maintain @last {EXTRACTING} --window 1000 --policy tight.toml",
                '{"on":"before_request"}\n{"on":"after_turn"}\n{"on":"idle","seconds":1}\n'
                '{"on":"error","error":"overloaded"}\n{"seconds":9,"on":"before_request"}\n',
            ),
            # Each alone: one that waits calls off what is at hand.
            Run(f"maintain @last {EXTRACTING}", '{"on":"abort"}\n'),
            Run(f"maintain @last {EXTRACTING}", '{"on":"compact"}\n'),
        ],
    ),
    Scene(
        the_talk,
        [
            Run(
                f"maintain @last {EXTRACTING}",
                "nonsense\n[]\n{}\n"
                '{"on":"lunch"}\n{"on":"error"}\n{"on":"idle","seconds":"long"}\n{"on":"idle","seconds":-1}\n'
                '{"on":"compact","instructions":"\\ud83d"}\n',
            ),
            Run(f"maintain @last {EXTRACTING}", b'{"on":"compact","instructions":"\xff"}\n'),
            File("settings.toml", "reserveTokens = 8_000\n"),
            f"maintain @last {EXTRACTING} --settings settings.toml --window 8000",
            File("settings.toml", "enable = true\nthreshold_percent = 101\n[promotion]\nmodel = 'x'\n"),
            f"maintain @last {EXTRACTING} --settings settings.toml",
            File(
                "settings.toml",
                "enabled = 1\nstrategy = 'guess'\nreserveToken = 1\nthreshold_tokens = -2\n"
                "keep_recent_tokens = -1\nreserve_tokens = 1\nreserveTokens = 2\nmostFailures = 0\n"
                "[promotion]\nmodel = 'x'\nwindow = 1\nwidth = 2\n[branchSummary]\nreserveTokens = -1\n",
            ),
            f"maintain @last {EXTRACTING} --settings settings.toml",
            File("settings.toml", "promotion = 1\nthreshold_percent = '80'\n"),
            f"maintain @last {EXTRACTING} --settings settings.toml",
            File("settings.toml", "[[["),
            f"maintain @last {EXTRACTING} --settings settings.toml",
            File("settings.toml", b"\xff"),
            f"maintain @last {EXTRACTING} --settings settings.toml",
            f"maintain @last {EXTRACTING} --settings none.toml",
            NO_TOOLS,
            "maintain @last --tools tools.json",
            "maintain @last --tools -",
            "maintain @last --system -",
            f"maintain nope {EXTRACTING}",
            f"maintain - {EXTRACTING}",
            f"maintain '' {EXTRACTING}",
            GREEDY,
            f"maintain @last --policy greedy.toml {EXTRACTING} --window 1000",
            Run(f"maintain @last {EXTRACTING} --window 16000", AFTER_TURN),
            *NO_TEMPLATE,
            f"maintain @last --policy mine.toml {EXTRACTING}",
        ],
    ),
    Scene(
        the_talk,
        [by_a_service("maintain @last --policy layered", '{"on":"compact"}\n' + AFTER_TURN)],
        [refuses(400, "no")],
    ),
]
