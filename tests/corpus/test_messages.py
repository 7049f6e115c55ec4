"""Messages of real sessions, classed as rules or not, against what a reader said before any code ran on them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from projections.mentions.standing_rules import InstructionKind, find_instructions

SESSIONS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("messages.toml").read_text("utf-8"))[
    "session"
]


class Classed(NamedTuple):
    """A labelled message and the rules that are found in it."""

    line: int
    words: str | None
    rules: list[str]

    @property
    def is_right(self) -> bool:
        """Return True if the labelled rule is found, or if none is found where none is."""
        if self.words is None:
            return not self.rules
        return any(self.words.casefold() in each.casefold() for each in self.rules)


def text_of(record: dict[str, Any]) -> str:
    """Return the text of a record of a person's message, of any harness whose sessions are lines."""
    body = record.get("payload") or record["message"]
    content = body["message"] if "message" in body else body["content"]
    if isinstance(content, str):
        return content
    return "\n".join(each["text"] for each in content if each["type"] == "text")


def classed(corpus: Path, half: str) -> list[Classed]:
    """Class the labelled messages of a half, `looked-at` or `held-out`."""
    found = []
    for session in SESSIONS:
        if session["half"] != half:
            continue
        lines = (corpus / session["file"]).read_text("utf-8").splitlines()
        labels: dict[int, str | None] = {each["line"]: each["words"] for each in session["rules"]}
        labels |= dict.fromkeys((*session["tasks"], *session["neither"]))
        for line, words in labels.items():
            instructions = find_instructions(text_of(json.loads(lines[line - 1])))
            rules = [each.text for each in instructions if each.kind is InstructionKind.RULE]
            found.append(Classed(line, words, rules))
    return found


def test_nine_of_ten_messages_that_were_looked_at_are_classed_as_by_a_reader(corpus: Path) -> None:
    found = classed(corpus, "looked-at")
    assert len(found) == 97
    assert sum(each.is_right for each in found) / len(found) >= 0.9
    assert sum(each.is_right for each in found if each.words is not None) >= 4


def test_messages_that_were_held_out_are_classed_no_worse_than_published(corpus: Path) -> None:
    found = classed(corpus, "held-out")
    assert len(found) == 32
    assert sum(each.is_right for each in found) >= 26
