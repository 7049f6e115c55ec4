"""The scenes of `refold compact`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import API, File, Run, Scene
from tests.cli.golden.steps import (
    EXTRACTING,
    KEY,
    NO_TEMPLATE,
    broken,
    by_a_model,
    by_a_service,
    closed,
    help_of,
    hooked,
    nothing,
    the_talk,
)
from tests.support.local_http import answers, refuses
from tests.support.messages_api import complete, errs, says
from tests.support.talk import PiSession, assistant, call, result, user


def session_file(name: str, session: PiSession) -> File:
    return File(name, b"".join(session._lines))


def _paths() -> PiSession:
    told = PiSession()
    told.says("u1", user("Read them."))
    for number, path in enumerate(["/etc/d", "/w/p/a.py", "/w/p/s/b.py", "/w/p/s/c.py", "/kept"]):
        told.says(f"a{number}", assistant(call("read", f"k{number}", path=path)))
        told.says(f"r{number}", result("x" * 4_000, tool="read", call_id=f"k{number}"))
    return told


def _long_result() -> PiSession:
    told = PiSession()
    told.says("u1", user("x" * 40_000))
    told.says("u2", user("Read it."))
    told.says("a2", assistant(call("read", "k", path="a.py")))
    told.says("r2", result("y" * 60_000, tool="read", call_id="k"))
    return told


def _two_requests() -> PiSession:
    told = PiSession()
    for name, size in (("u1", 36_000), ("u2", 4_000)):
        told.says(name, user("x" * size))
    return told


PROMPT_OF_NO_TEXT: Final = File("prompt.md", b"\xff")
KEEPING: Final = "compact @last --keep-recent 250"

SCENES: Final[Sequence[Scene]] = [
    help_of("compact"),
    Scene(
        the_talk,
        [
            "compact @last --keep-recent 350 --dry-run",
            f"{KEEPING} --template five-sections --summarizer a-1 --summarizer b-1 --dry-run",
            f"compact @last 'Be brief.' {EXTRACTING} --keep-recent 250 --dry-run",
            "compact @last --dry-run",
            "compact @last 'Be brief.'",
            f"compact @last --policy mask {EXTRACTING}",
            f"compact @last {EXTRACTING} --window 16000",
            f"{KEEPING} {EXTRACTING}",
            f"{KEEPING} {EXTRACTING}",
            f"{KEEPING} {EXTRACTING} --dry-run",
        ],
    ),
    Scene(the_talk, [KEEPING]),
    Scene(
        the_talk,
        [
            Run(
                f"--counter o200k {KEEPING} {EXTRACTING}",
                patch={"projections.tokens._o200k": lambda _: None},
            )
        ],
    ),
    Scene(
        nothing,
        [
            session_file("two.jsonl", _two_requests()),
            "compact two.jsonl --keep-recent 1000 --dry-run",
        ],
    ),
    Scene(
        nothing,
        [
            session_file("long.jsonl", _long_result()),
            File("tail.toml", 'name = "tail"\nextends = "opencode"\n[cut]\npart = "tail-turn"\n'),
            f"compact long.jsonl --policy opencode {EXTRACTING} --dry-run",
            f"compact long.jsonl --policy tail.toml {EXTRACTING} --dry-run",
        ],
    ),
    Scene(nothing, [session_file("paths.jsonl", _paths()), "compact paths.jsonl --keep-recent 0 --dry-run"]),
    Scene(the_talk, [Run(KEEPING, env={**KEY, "ANTHROPIC_BASE_URL": API})], [says(complete)]),
    Scene(
        the_talk,
        [
            Run(
                f"{KEEPING} --summarizer first-1 --summarizer second-1",
                env={"ANTHROPIC_BASE_URL": API},
            )
        ],
        [errs(404, "no such model", "not_found_error"), says(complete)],
    ),
    Scene(the_talk, [by_a_model(KEEPING)], [says("## Goal\nall of it")]),
    Scene(
        the_talk,
        [by_a_model(KEEPING)],
        [errs(401, "invalid x-api-key", "authentication_error")],
    ),
    Scene(the_talk, [by_a_service(KEEPING)], [answers({"summary": "word " * 4000})]),
    Scene(the_talk, [by_a_service(KEEPING)], [refuses(429, "Spent.", retry_after="3600")]),
    Scene(
        the_talk,
        [by_a_service(f"{KEEPING} --template short")],
        [refuses(529, "overloaded", retry_after="0.01"), answers({"summary": "In short."})],
    ),
    Scene(
        the_talk,
        [
            hooked(f"{KEEPING} {EXTRACTING}", before_compaction=closed),
            hooked(f"{KEEPING} {EXTRACTING}", before_compaction=broken, after_compaction=broken),
        ],
    ),
    Scene(
        the_talk,
        [
            f"compact @last --summarizer x-1 {EXTRACTING}",
            "compact @last --summarizer extractve",
            Run(
                "compact @last --summarizer claude-haiku-4-5",
                env={"ANTHROPIC_BASE_URL": "http://me:pass/word@127.0.0.1"},
            ),
            "compact @last --keep-recent -1",
            "compact @last --window 0",
            "compact @last --system nope",
            "compact @last --policy nope",
            "compact @last --policy ./nope.toml",
            "compact @last --summarizer http",
            "compact @last --leaf nope",
            "compact @last --template nope",
            "compact @last --template nope.md",
            "compact @last --template talk.jsonl/x.md",
            PROMPT_OF_NO_TEXT,
            "compact @last --system prompt.md",
            *NO_TEMPLATE,
            f"compact @last --policy mine.toml {EXTRACTING}",
            f"compact @last --policy mine.toml {EXTRACTING} --template compaction",
        ],
    ),
]
