"""Measure giving back over rounds of compactions in Claude Code: rules kept, tokens, and faults survived.

    python -m tests.wire.rounds

runs the program without refold, with it and with each fault, and writes the table in docs/give-back.md.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Final, NamedTuple

from projections.person_text import GIVEN_BACK
from tests.wire.install import CACHE, RELEASES, cache_folder, install
from tests.wire.recording import requests_in
from tests.wire.scenarios.giving_back import FAULTS, RULES, scenarios

PAGE: Final = Path(__file__).parents[2] / "docs" / "give-back.md"
ROUNDS: Final = 5
_HARNESS: Final = "claude-code"
_HEAD: Final = f"| round | {' | '.join(map(str, range(1, ROUNDS + 1)))} |\n|{' --- |' * (ROUNDS + 1)}\n"
_OF_A_RUN: Final = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|/mnt/tmp/[^\"\\ ]*"
)


class Round(NamedTuple):
    """The first request behind a compaction: how often it has each rule, and the tokens that refold gave back.

    Tokens are an estimate, at four characters each.
    """

    rules: tuple[int, ...]
    tokens: int


def run(harness: str, folder: Path) -> None:
    """Run all scenarios of a harness, which must be installed; keep them in a folder."""
    names = [each.name for each in scenarios(harness)]
    command = [sys.executable, "-m", "tests.wire.run", harness, RELEASES[harness][-1], str(folder)]
    subprocess.run([*command, "--giving-back", *names], check=True)


def sent(folder: Path, name: str) -> list[tuple[str, str]]:
    """Return the rule that answered each request and its messages, without what every run has of its own."""
    return [
        (
            each["rule"],
            _OF_A_RUN.sub(
                "…", json.dumps(each["body"].get("messages") or each["body"]["input"], ensure_ascii=False)
            ),
        )
        for each in requests_in(folder / name / "requests.jsonl")
    ]


def rounds(folder: Path, name: str) -> list[Round]:
    """Return the rounds of a scenario."""
    found = sent(folder, name)
    behind = [now for (before, _), now in pairwise(found) if before == "compaction"]
    return [
        Round(tuple(text.count(rule) for rule in RULES), -(-len(_given(text)) // 4))
        for rule, text in behind
        if rule == "main"
    ]


def _given(messages: str) -> str:
    """Return what was given back in a request, as JSON has it."""
    found = re.search(rf'"({re.escape(GIVEN_BACK)}(?:[^"\\]|\\.)*)"', messages)
    return json.loads(f'"{found[1]}"') if found else ""


def main() -> None:
    cache = cache_folder()
    os.environ[CACHE] = str(cache)
    install(_HARNESS, RELEASES[_HARNESS][-1], cache)
    with tempfile.TemporaryDirectory(prefix="refold-rounds-") as name:
        folder = Path(name)
        run(_HARNESS, folder)
        without, given = (rounds(folder, each)[:ROUNDS] for each in ("stock", "given-back"))
        survived = [each for each in FAULTS if sorted(sent(folder, each)) == sorted(sent(folder, "stock"))]
    kept = [[str(sum(map(bool, each.rules))) for each in found] for found in (without, given)]
    rows = {
        f"rules of {len(RULES)} sent, without refold": kept[0],
        "with refold": kept[1],
        "tokens given back": [str(each.tokens) for each in given],
        "faults survived": [f"{len(survived)} of {len(FAULTS)}"] + [""] * (ROUNDS - 1),
    }
    table = "".join(f"| {title} | {' | '.join(cells)} |\n" for title, cells in rows.items())
    before, head, after = PAGE.read_text("utf-8").partition(_HEAD)
    old = len("".join(takewhile(lambda line: line.startswith("|"), after.splitlines(keepends=True))))
    PAGE.write_text(before + head + table + after[old:], "utf-8")


if __name__ == "__main__":
    main()
