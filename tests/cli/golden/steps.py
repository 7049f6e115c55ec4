"""Parts that the scenes of several commands share: stores to begin from, files, records, options, hooks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from compaction.hooks import Cancel, Hooks
from tests.cli import long_talk, tale
from tests.cli.golden import API, File, Run, Scene
from tests.cli.running import Refold
from tests.support.pi_files import line
from tests.support.talk import user
from tests.support.tampering import tables

OTHER: Final = "0199bbbb-0000-7000-8000-000000000002"
CUSTOM: Final = line({"type": "custom", "customType": "x"})
HELLO: Final = line({"type": "message", "id": "m1", "message": {"role": "user", "content": "hello"}})
CONTINUE: Final = {"type": "message", "message": {"role": "user", "content": "continue"}}
KEY: Final = {"ANTHROPIC_API_KEY": "no-key"}


def nothing(refold: Refold) -> None:
    del refold


def the_tale(refold: Refold) -> None:
    refold("sync", tale.write(Path("tale.jsonl")))


def the_talk(refold: Refold) -> None:
    refold("sync", long_talk.write(Path("talk.jsonl")))


def two_generations(refold: Refold) -> None:
    the_tale(refold)
    Path("tale.jsonl").write_bytes(re.sub(rb'"([a-z][0-9])"', rb'"new-\1"', tale.tale()))
    refold("sync", "tale.jsonl")


def the_demo(refold: Refold) -> None:
    refold("--store", refold.store, "demo")


def a_changed_event(refold: Refold) -> None:
    with tables(refold.store) as stored:
        key, value = stored.items("events")[0]
        stored.put("events", key, value.replace(b"Fix the parser.", b"Fix the sparrow"))


def lines(*records: Mapping[str, Any]) -> bytes:
    return b"".join(map(line, records))


def message(event_id: str, spoken: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": event_id, "message": spoken}


def person(event_id: str, words: str) -> dict[str, Any]:
    return message(event_id, user(words))


REWRITE: Final = {"type": "rewrite", "id": "w1", "reason": "prune", "tokensSaved": 12}

NO_TEMPLATE: Final = (
    File("config/templates/broken.md", "no front matter"),
    File(
        "mine.toml",
        'name = "mine"\n[trigger]\nreserve = 300\n[cut]\npart = "keep-recent"\ntokens = 250\n'
        '[prompting]\ntemplate = "nope"\nshort = "broken"\n',
    ),
)

NAMES_FOR_NO_SESSION: Final = ("session.jsonl", "x/y", "export.json", "tale.jsonl", "#3", "", "@last", "a\nb")
EXTRACTING: Final = "--summarizer extractive"


def by_a_model(line: str) -> Run:
    return Run(f"{line} --summarizer anthropic", env={**KEY, "ANTHROPIC_BASE_URL": API})


def by_a_service(line: str, stdin: str = "") -> Run:
    return Run(f"{line} --summarizer http", stdin, env={"REFOLD_SUMMARIZER_ENDPOINT": API})


def hooked(command: str, **functions: Any) -> Run:
    hooks = [Hooks(name="ticketing", **functions)]
    return Run(command, patch={"compaction.hooks.installed_hooks": lambda: hooks})


def closed(happening: object) -> Cancel:
    del happening
    return Cancel("the ticket is closed")


def broken(happening: object) -> None:
    del happening
    raise OSError("no\nnetwork")


def named(command: str) -> list[str]:
    return [f"{command} --as {shlex.quote(name)}" for name in NAMES_FOR_NO_SESSION]


def help_of(name: str) -> Scene:
    return Scene(nothing, [f"{name} --help"])
