"""Find standing rules in messages of public repositories, and compare with what readers said beforehand.

`python -m tests.corpus.prompts` prints the figures of the messages that were used during development, with
`--held-out` those of the others, and with `--errors` the messages that are classed wrong. The texts are files named
DIGEST.txt in the folder that `REFOLD_PROMPTS` names: take them from the commits in `prompts.toml`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from projections.mentions.standing_rules import InstructionKind, find_instructions

LABELS: Final = Path(__file__).with_name("prompts.toml")
FOLDER: Final = "REFOLD_PROMPTS"
"""The environment variable that names the folder with the texts."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a message that is a rule to a reader.

    `message` is the message's place in the list, `length` and `digest` are those of the words. `sure`: both readers
    saw it, and one of them was sure. `read`: a model quoted it.
    """

    message: int
    length: int
    digest: str
    sure: bool = False
    read: bool = False


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file in a public repository: the digests of its messages, and the rules in them.

    `read` are the places of messages in which a model named a rule, None if it was not asked.
    """

    repository: str
    path: str
    commit: str
    messages: list[str]
    rules: list[Rule] = []
    read: list[int] | None = None
    held_out: bool = False


class _Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: list[Source]


class Figures(NamedTuple):
    """Counts of messages: those with a rule of which readers are sure, those named, and those rightly so.

    `named_right` have a rule to at least one reader.
    """

    messages: int
    sure: int
    found: int
    named: int
    named_right: int


class Classed(NamedTuple):
    """A message, the words of its labelled rule ("" for none), and the rules that are found in it."""

    text: str
    label: str
    is_sure: bool
    rules: list[str]

    @property
    def is_found(self) -> bool:
        """True if a rule that is found has the labelled words, or is part of them."""
        return any(self.label in rule or rule in self.label for rule in map(str.casefold, self.rules))


def sources(*, held_out: bool) -> list[Source]:
    """Return the labelled sources. Raises msgspec.ValidationError for an unknown key."""
    return [
        each
        for each in msgspec.toml.decode(LABELS.read_bytes(), type=_Labels).source
        if each.held_out == held_out
    ]


def figures_of_words(classed: Sequence[Classed]) -> Figures:
    """Return the figures of rules that are found by their words."""
    sure = [each for each in classed if each.is_sure]
    named = [each for each in classed if each.rules]
    return Figures(
        len(classed),
        len(sure),
        sum(each.is_found for each in sure),
        len(named),
        sum(bool(each.label) for each in named),
    )


def figures_of_model() -> Figures:
    """Return the figures of rules that a model named."""
    asked = [each for each in sources(held_out=True) if each.read is not None]
    sure = [rule for source in asked for rule in source.rules if rule.sure]
    return Figures(
        sum(len(each.messages) for each in asked),
        len(sure),
        sum(rule.read for rule in sure),
        sum(len(each.read or ()) for each in asked),
        sum(len({rule.message for rule in each.rules} & set(each.read or ())) for each in asked),
    )


def classed(folder: Path, *, held_out: bool) -> Iterator[Classed]:
    """Class the messages. Raises FileNotFoundError if a text is missing, ValueError if it is another."""
    for source in sources(held_out=held_out):
        labels = {rule.message: rule for rule in source.rules}
        for number, digest in enumerate(source.messages):
            text = (folder / f"{digest}.txt").read_bytes().decode()
            if _digest(text) != digest:
                raise ValueError(f"{digest}.txt has another digest")
            rule = labels.get(number)
            found = [each.text for each in find_instructions(text) if each.kind is InstructionKind.RULE]
            yield Classed(text, _words(text, rule) if rule else "", bool(rule and rule.sure), found)


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
    parser = argparse.ArgumentParser(description="Find rules in messages of public repositories.")
    parser.add_argument("--held-out", action="store_true", help="use the messages that nobody looked at")
    parser.add_argument("--errors", action="store_true", help="print the messages that are classed wrong")
    given = parser.parse_args()
    found = list(classed(Path(os.environ[FOLDER]), held_out=given.held_out))
    lines = [f"by words: {figures_of_words(found)}"]
    lines += [f"by a model: {figures_of_model()}"] if given.held_out else []
    if given.errors:
        wrong = (
            each for each in found if (each.is_sure and not each.is_found) or (each.rules and not each.label)
        )
        lines += [f"{each.label!r} {each.rules} in {each.text!r}" for each in wrong]
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
