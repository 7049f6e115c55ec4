"""Sentences made up for this project and labelled as rules, tasks or neither: no corpus needed."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).with_name("rules.txt")


class LabelledSentence(NamedTuple):
    """A sentence and its label: `rule`, `task` or `none`. `is_held_out`: not looked at while building."""

    text: str
    label: str
    is_held_out: bool


def labelled_sentences() -> list[LabelledSentence]:
    """Return all sentences of the list, in order."""
    found, is_held_out = list[LabelledSentence](), False
    for line in FILE.read_text("utf-8").splitlines():
        if line.startswith("["):
            is_held_out = line == "[held out]"
        elif line and not line.startswith("#"):
            label, _, text = line.partition("\t")
            found.append(LabelledSentence(text, label, is_held_out))
    return found
