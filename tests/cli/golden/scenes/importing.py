"""The scenes of `refold import`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.cli import tale
from tests.cli.golden import File, Run, Scene
from tests.cli.golden.steps import OTHER, help_of, named, nothing, the_tale
from tests.cli.running import Refold
from tests.support.pi_files import header, said

CLAUDE_CODE: Final = '{"type":"mode","mode":"normal","sessionId":"s"}\n{"type":"user","sessionId":"s"}\n'

HOME: Final = {"HOME": "home", "XDG_DATA_HOME": "", "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""}
HOME |= {"PI_CODING_AGENT_DIR": "", "PI_CODING_AGENT_SESSION_DIR": ""}


def sessions_of_three_harnesses(refold: Refold) -> None:
    del refold
    for day, (name, content) in enumerate(
        {
            ".codex/sessions/2025/12/01/rollout-a.jsonl": '{"type":"session_meta","payload":{}}\n',
            ".claude/projects/-home-me-shop/a.jsonl": CLAUDE_CODE,
            ".pi/agent/sessions/--home-me-shop--/a.jsonl": tale.tale().decode(),
            ".pi/agent/sessions/--home-me-shop--/b.jsonl": header(session=OTHER).decode(),
            ".pi/agent/sessions/--home-me-parser--/c.jsonl": header(session="c").decode(),
        }.items()
    ):
        path = Path("home", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (1_764_590_400 + day * 86_400,) * 2)


SCENES: Final[Sequence[Scene]] = [
    help_of("import"),
    Scene(nothing, [Run("import", env=HOME)]),
    Scene(
        sessions_of_three_harnesses,
        [Run("import", env=HOME), "import home/.pi/agent/sessions"],
    ),
    Scene(
        nothing,
        [
            File("tale.jsonl", tale.tale()),
            "import tale.jsonl",
            "import tale.jsonl",
            "import tale.jsonl --as second",
            "import tale.jsonl tale.jsonl --as third",
            *named("import tale.jsonl"),
        ],
    ),
    Scene(
        nothing,
        [
            File("tale.jsonl", tale.tale()),
            File("notes.txt", "a shopping list\n"),
            File("empty.jsonl", ""),
            File("claude.jsonl", CLAUDE_CODE),
            "import tale.jsonl notes.txt gone.jsonl empty.jsonl claude.jsonl",
        ],
    ),
    Scene(
        nothing,
        [
            File("empty/notes.txt", "a shopping list\n"),
            "import empty",
            File("claude/a.jsonl", CLAUDE_CODE),
            File("claude/b.jsonl", CLAUDE_CODE),
            File("claude/c.jsonl", header(session=OTHER) + said("hello", "x1", None)),
            "import claude",
            File("exports/a.json", '{\n "info": {"id": "ses_1"}, "messages": []\n}'),
            "import exports",
        ],
    ),
    Scene(
        nothing,
        [
            File("tale.jsonl", tale.tale() + b"[1]\n{broken\n" + said("an id once more", "u1", "i1")),
            "import tale.jsonl",
            File("bytes.jsonl", header(session=OTHER) + b'{"type":"custom","id":"x","customType":"\xff"}\n'),
            "import bytes.jsonl",
            File(
                "longer.jsonl",
                header(session="l") + said("hello", "e1", None) + said("again", "e2", "e1"),
            ),
            "import longer.jsonl",
            File("shorter.jsonl", header(session="l") + said("hello", "e1", None)),
            "files shorter.jsonl",
            File("utf-16.jsonl", tale.tale().decode().encode("utf-16")),
            "import utf-16.jsonl",
            File("orphan.jsonl", header(session="orphan") + said("hello", "x1", "gone")),
            "import orphan.jsonl",
        ],
    ),
    Scene(
        the_tale,
        [
            Run("append @last", said("said here", role="user")),
            File("tale.jsonl", tale.tale() + said("said there", "u9", "i1") + said("more", "v9", "u9")),
            "import tale.jsonl",
            File("tale.jsonl", tale.tale().replace(b"Fix the parser.", b"Mend the parser.")),
            "import tale.jsonl",
            File("tale.jsonl", re.sub(rb'"([a-z][0-9])"', rb'"new-\1"', tale.tale())),
            "import tale.jsonl",
        ],
    ),
]
