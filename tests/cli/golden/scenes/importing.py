"""The scenes of `refold import`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tests.cli import tale
from tests.cli.golden import File, Run, Scene
from tests.cli.golden.steps import OTHER, help_of, named, nothing, the_tale
from tests.support.pi_files import header, said

CLAUDE_CODE: Final = '{"type":"mode","mode":"normal","sessionId":"s"}\n{"type":"user","sessionId":"s"}\n'

SCENES: Final[Sequence[Scene]] = [
    help_of("import"),
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
