"""The scenes of `refold export`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import CUSTOM, help_of, the_tale
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.tampering import tables


def a_changed_answer(refold: Refold) -> None:
    with tables(refold.store) as stored:
        for key, value in stored.items("events"):
            if b"You are welcome." in value:
                stored.put("events", key, value.replace(b"You are welcome.", b"You are tampered"))


SCENES: Final[Sequence[Scene]] = [
    help_of("export"),
    Scene(
        the_tale,
        [
            "export @last -o again.jsonl",
            "export @last -o again.jsonl",
            "export @last -o gone/again.jsonl",
            "export @last -o .",
            "export @last -o store",
            "export nope -o other.jsonl",
            Run("append s", CUSTOM),
            "export s -o -",
            "export s --format pi -o s.jsonl",
            f"export {SESSION} --format claude-code -o claude.jsonl",
            f"export {SESSION} --format claude-code -o claude.jsonl --yes",
            a_changed_answer,
            f"export {SESSION} -o other.jsonl",
        ],
    ),
]
