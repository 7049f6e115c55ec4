"""`python -m tests.labels.measure` prints the precision and the recall of every kind, on both halves of the labels."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from projections.mentions import MentionKind, commands, mentions
from tests.labels.corpus import corpus_folder
from tests.labels.labelled import LabelledLine, Named, labelled_lines, labelled_scripts
from tests.labels.reference import Reference, digest

HALVES: Final = {"development": False, "held out": True}


class Score(NamedTuple):
    """Counts of labelled, found, and correctly found items."""

    labelled: int = 0
    found: int = 0
    right: int = 0

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.labelled if self.labelled else 1.0


def score_of(labelled: Iterable[object], found: Iterable[object]) -> Score:
    """Score the agreement of two lists as multisets."""
    wanted, got = Counter(labelled), Counter(found)
    return Score(wanted.total(), got.total(), (wanted & got).total())


def total(scores: Iterable[Score]) -> Score:
    return Score(*map(sum, zip(Score(), *scores, strict=True)))


def found_in(line: LabelledLine, corpus: Path) -> Iterator[Named]:
    """Return the mentions in a labelled line, read with the text around it."""
    string, start, stop = line.text(corpus)
    for mention in mentions(string):
        if start <= mention.start and mention.stop <= stop:
            yield Named(mention.kind, mention.start - start, mention.stop - start)


def by_kind(corpus: Path, *, held_out: bool) -> dict[MentionKind, Score]:
    """The score of every kind on one half. Of an error counts the line, not where in it the report begins."""
    lines = [line for line in labelled_lines() if line.reference.is_held_out == held_out]
    labels = {(line.reference, _compared(named)) for line in lines for named in line.mentions}
    found = {(line.reference, _compared(named)) for line in lines for named in found_in(line, corpus)}
    kinds = [kind for kind in MentionKind if kind is not MentionKind.COMMAND]
    scores = {kind: score_of(_of(kind, labels), _of(kind, found)) for kind in kinds}
    return scores | {MentionKind.COMMAND: _of_commands(corpus, held_out=held_out)}


def _compared(named: Named) -> Named:
    return Named(MentionKind.ERROR, 0, 0) if named.kind is MentionKind.ERROR else named


def _of(kind: MentionKind, pairs: set[tuple[Reference, Named]]) -> list[tuple[Reference, Named]]:
    return [pair for pair in pairs if pair[1].kind is kind]


def _of_commands(corpus: Path, *, held_out: bool) -> Score:
    scripts = [script for script in labelled_scripts() if script.reference.is_held_out == held_out]
    return total(score_of(script.commands, map(digest, commands(script.text(corpus)))) for script in scripts)


def table(corpus: Path) -> str:
    """Precision and recall by kind and half, in Markdown."""
    halves = [by_kind(corpus, held_out=held_out) for held_out in HALVES.values()]
    lines = [f"| kind | {' | '.join(f'{name}: labels | precision | recall' for name in HALVES)} |"]
    lines.append(f"| --- |{' ---: | ---: | ---: |' * len(halves)}")
    lines += [_row(kind.value, [scores[kind] for scores in halves]) for kind in halves[0]]
    lines.append(_row("all", [total(scores.values()) for scores in halves]))
    return "\n".join(lines)


def _row(name: str, scores: list[Score]) -> str:
    cells = [f"{score.labelled} | {score.precision:.3f} | {score.recall:.3f}" for score in scores]
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(table(corpus_folder()) + "\n")
