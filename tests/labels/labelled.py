"""The labels: which mentions lines of the corpus hold, and which commands its scripts run, by a reader's judgement."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from projections.mentions import MentionKind
from tests.labels.reference import Reference, digest, line_span

_Row = TypeVar("_Row")

FOLDER: Final = Path(__file__).parent


class Named(NamedTuple):
    """A mention as labels have it: its kind, and where in its line it begins and ends."""

    kind: MentionKind
    start: int
    stop: int


class LabelledLine(msgspec.Struct, frozen=True):
    """A line of the corpus, the digest of its text, and what it names; nothing of the text itself."""

    file: str
    record: int
    pointer: str
    line: int
    sha256: str
    mentions: tuple[Named, ...]

    @property
    def reference(self) -> Reference:
        return Reference(self.file, self.record, self.pointer, self.line)

    def text(self, corpus: Path) -> tuple[str, int, int]:
        """The string that the line is of, and where in it the line begins and ends.

        Raises ValueError where it is no longer the line that was labelled.
        """
        string = self.reference.string(corpus)
        start, stop = line_span(string, self.line)
        if digest(string[start:stop]) != self.sha256:
            raise ValueError(f"{self.reference} is no longer the line that was labelled")
        return string, start, stop


class LabelledScript(msgspec.Struct, frozen=True):
    """A shell script of the corpus, its digest, and the digests of the commands that it runs, in order."""

    file: str
    record: int
    pointer: str
    sha256: str
    commands: tuple[str, ...]

    @property
    def reference(self) -> Reference:
        return Reference(self.file, self.record, self.pointer, 0)

    def text(self, corpus: Path) -> str:
        """The script. Raises ValueError where it is no longer the one that was labelled."""
        script = self.reference.string(corpus)
        if digest(script) != self.sha256:
            raise ValueError(f"{self.reference} is no longer the script that was labelled")
        return script


@cache
def labelled_lines() -> tuple[LabelledLine, ...]:
    return tuple(_rows("mentions.jsonl", LabelledLine))


@cache
def labelled_scripts() -> tuple[LabelledScript, ...]:
    return tuple(_rows("commands.jsonl", LabelledScript))


def _rows(name: str, row: type[_Row]) -> Iterator[_Row]:
    decoder = msgspec.json.Decoder(row)
    for line in (FOLDER / name).read_bytes().splitlines():
        yield decoder.decode(line)
