"""Sentences of users of the corpus, each read by a person and found to be an instruction or none.

Their text stays in the corpus. A sentence that stands there more than once is labelled where it stands first.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.labels.reference import digest, record, resolve

_FILE = Path(__file__).with_name("instructions.jsonl")


class Sentence(NamedTuple):
    """Characters `start` to `stop` of a string; `digest` is SHA-256 of them."""

    start: int
    stop: int
    is_instruction: bool
    digest: str

    @property
    def is_held_out(self) -> bool:
        """True for the held-out half, chosen by the first digit of the digest."""
        return int(self.digest[0], 16) % 2 == 1


class Message(msgspec.Struct, frozen=True):
    """A string of a user's with its sentences; `file`, `record` and `pointer` as those of a `Reference`."""

    file: str
    record: int
    pointer: str
    sentences: list[Sentence]

    def string(self, corpus: Path) -> str:
        """The string, as it stands in the corpus."""
        found = resolve(record(corpus / self.file, self.record), self.pointer)
        assert isinstance(found, str), f"{self.pointer} leads to no text"
        return found


def labelled_messages() -> list[Message]:
    """Return every labelled message."""
    return [msgspec.json.decode(line, type=Message) for line in _FILE.read_bytes().splitlines()]


def is_as_labelled(sentence: Sentence, string: str) -> bool:
    """Return True if the sentence is still at its place."""
    return digest(string[sentence.start : sentence.stop]) == sentence.digest
