"""The scenes of `refold sync`."""

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

PROJECT: Final = Path("home", ".pi", "agent", "sessions", "--home-me-shop--")
CLAUDE_CODE: Final = '{"type":"mode","mode":"normal","sessionId":"s"}\n{"type":"user","sessionId":"s"}\n'

HOME: Final = {"HOME": "home", "XDG_DATA_HOME": "", "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""}
HOME |= {"PI_CODING_AGENT_DIR": "", "PI_CODING_AGENT_SESSION_DIR": ""}


def sessions_of_three_harnesses(refold: Refold) -> None:
    del refold
    for day, (name, content) in enumerate(
        {
            ".gemini/tmp/shop/chats/session-1.json": '{"sessionId":"1","projectHash":"2"}',
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


def one_grows_and_one_is_damaged(refold: Refold) -> None:
    sessions_of_three_harnesses(refold)
    refold("sync", "home/.pi/agent/sessions")
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
    Scene(
        sessions_of_three_harnesses,
        ["sync home/.pi/agent/sessions --dry-run", "sync home/.pi/agent/sessions", "sync home --dry-run"],
    ),
    Scene(one_grows_and_one_is_damaged, [Run("sync", env=HOME), Run("sync --home home --dry-run", env=HOME)]),
    Scene(
        nothing,
        [
            File("tale.jsonl", tale.tale()),
            "sync tale.jsonl",
            "sync tale.jsonl",
            "sync tale.jsonl --as second",
            "sync tale.jsonl tale.jsonl --as third",
            *named("sync tale.jsonl"),
        ],
    ),
    Scene(
        nothing,
        [
            File("tale.jsonl", tale.tale()),
            File("notes.txt", "a shopping list\n"),
            File("empty.jsonl", ""),
            File("claude.jsonl", CLAUDE_CODE),
            "sync tale.jsonl notes.txt gone.jsonl empty.jsonl claude.jsonl",
        ],
    ),
    Scene(
        nothing,
        [
            File("empty/notes.txt", "a shopping list\n"),
            "sync empty",
            File("claude/a.jsonl", CLAUDE_CODE),
            File("claude/b.jsonl", CLAUDE_CODE),
            File("claude/c.jsonl", header(session=OTHER) + said("hello", "x1", None)),
            "sync claude",
            File("exports/a.json", '{\n "info": {"id": "ses_1"}, "messages": []\n}'),
            "sync exports",
        ],
    ),
    Scene(
        nothing,
        [
            File("tale.jsonl", tale.tale() + b"[1]\n{broken\n" + said("an id once more", "u1", "i1")),
            "sync tale.jsonl",
            File("bytes.jsonl", header(session=OTHER) + b'{"type":"custom","id":"x","customType":"\xff"}\n'),
            "sync bytes.jsonl",
            File(
                "longer.jsonl",
                header(session="l") + said("hello", "e1", None) + said("again", "e2", "e1"),
            ),
            "sync longer.jsonl",
            File("shorter.jsonl", header(session="l") + said("hello", "e1", None)),
            "files shorter.jsonl",
            File("utf-16.jsonl", tale.tale().decode().encode("utf-16")),
            "sync utf-16.jsonl",
            File("orphan.jsonl", header(session="orphan") + said("hello", "x1", "gone")),
            "sync orphan.jsonl",
        ],
    ),
    Scene(
        the_tale,
        [
            Run("append @last", said("said here", role="user")),
            File("tale.jsonl", tale.tale() + said("said there", "u9", "i1") + said("more", "v9", "u9")),
            "sync tale.jsonl",
            File("tale.jsonl", tale.tale().replace(b"Fix the parser.", b"Mend the parser.")),
            "sync tale.jsonl",
            File("tale.jsonl", re.sub(rb'"([a-z][0-9])"', rb'"new-\1"', tale.tale())),
            "sync tale.jsonl",
        ],
    ),
    Scene(
        nothing,
        [
            "sync --as new",
            "sync tale.jsonl --as new --dry-run",
            "sync tale.jsonl --home .",
            "sync --watch --dry-run",
            "sync --watch gone",
        ],
    ),
]
