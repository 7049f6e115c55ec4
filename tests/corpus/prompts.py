"""Class messages of public repositories as rules or not, and compare with what a reader said beforehand.

`python -m tests.corpus.prompts 1` prints the figures of a set, and with `--errors` the messages that are classed
wrong. The texts are files named DIGEST.txt in the folder that `REFOLD_PROMPTS` names: take them from the commits in
`prompts.toml`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from projections.mentions.standing_rules import InstructionKind, find_instructions

LABELS: Final = Path(__file__).with_name("prompts.toml")
FOLDER: Final = "REFOLD_PROMPTS"
"""The environment variable that names the folder with the texts."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a message that is a rule: the message's place in the list, and the length and digest of the words."""

    message: int
    length: int
    digest: str


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file in a public repository, the digests of the messages that were taken from it, and the rules in them."""

    set: int
    repository: str
    path: str
    commit: str
    messages: list[str]
    rules: list[Rule] = []


class _Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: list[Source]


class Classed(NamedTuple):
    """A message, the words of the labelled rule in it, None if there is none, and the rules that are found."""

    text: str
    label: str | None
    rules: list[str]

    @property
    def is_right(self) -> bool:
        """True if the labelled rule is found, or if none is found where none is."""
        if self.label is None:
            return not self.rules
        return any(self.label in each.casefold() for each in self.rules)


def sources() -> list[Source]:
    """Return all labelled sources. Raises msgspec.ValidationError for an unknown key."""
    return msgspec.toml.decode(LABELS.read_bytes(), type=_Labels).source


def classed(folder: Path, of_set: int) -> Iterator[Classed]:
    """Class the messages of a set. Raises FileNotFoundError if a text is missing, ValueError if it is another."""
    for source in sources():
        labels = {rule.message: rule for rule in source.rules}
        for number, digest in enumerate(source.messages if source.set == of_set else ()):
            text = (folder / f"{digest}.txt").read_bytes().decode()
            if _digest(text) != digest:
                raise ValueError(f"{digest}.txt has another digest")
            label = _words(text, labels[number]) if number in labels else None
            found = [each.text for each in find_instructions(text) if each.kind is InstructionKind.RULE]
            yield Classed(text, label, found)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _words(text: str, rule: Rule) -> str:
    """Return the words of a rule in a message, in lower case. Raises ValueError if they are not there."""
    plain = text.casefold()
    for start in range(len(plain) - rule.length + 1):
        words = plain[start : start + rule.length]
        if _digest(words) == rule.digest:
            return words
    raise ValueError(f"no part of {text!r} has the digest {rule.digest}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Class messages of public repositories as rules or not.")
    parser.add_argument("set", type=int)
    parser.add_argument("--errors", action="store_true", help="print the messages that are classed wrong")
    given = parser.parse_args()
    found = list(classed(Path(os.environ[FOLDER]), given.set))
    rules = [each for each in found if each.label is not None]
    named = [each for each in found if each.rules]
    out = [
        f"{len(found)} messages: {sum(each.is_right for each in found)} right",
        f"{len(rules)} with a rule: {sum(each.is_right for each in rules)} found",
        f"{len(named)} in which rules are found: {sum(each.is_right for each in named)} right",
    ]
    wrong = [each for each in found if given.errors and not each.is_right]
    out += [f"{each.label!r} {each.rules} in {each.text!r}" for each in wrong]
    sys.stdout.write("\n".join([*out, ""]))


if __name__ == "__main__":
    main()
