"""Compare extractive summaries with truncation at boundaries of real sessions.

Run `python -m bench.extractive FOLDER` with the folder of real sessions. It prints a table: of
the distinct things in the summarized messages, how many the summary names, how many the truncated
conversation of the same length names, and how many there are; then the share of later used things that each
context names.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from bench.boundaries import FILES, KINDS, Boundary, boundaries, named, things, used_later
from compaction.summarizers.extractive import ExtractiveSummarizer
from eventstore import import_file, open_store
from eventstore.log import Snapshot

HEAD: Final = (
    *("session", "boundary", "characters", "of"),
    *(f"{kind}s" for kind in KINDS),
    *("used later", "truncated", "recorded"),
)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("name the folder of real sessions: python -m bench.extractive FOLDER")
    say(HEAD)
    say(["---"] * len(HEAD))
    found: list[list[float | None]] = []
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store") as log:
        for file in FILES:
            session = import_file(log, Path(sys.argv[1]) / "pi" / file).id
            with log.snapshot() as snapshot:
                for boundary in boundaries(snapshot, session, ExtractiveSummarizer()):
                    shares = shares_used(snapshot, boundary)
                    say([file.partition(".")[0], *row(boundary), *map(percent, shares)])
                    found.append(shares)
    means = [mean(column) for column in zip(*found, strict=True)]
    say(["mean", *[""] * (len(HEAD) - len(means) - 1), *map(percent, means)])


def say(cells: Iterable[str]) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def row(boundary: Boundary) -> Iterator[str]:
    values, paths = things(boundary)
    ours, theirs = (named(text, values, paths) for text in (boundary.summary, boundary.truncated))
    yield boundary.name
    yield f"{len(boundary.summary):,}"
    yield f"{len(boundary.conversation):,}"
    for kind in KINDS:
        yield f"{ours[kind]} : {theirs[kind]} of {len(values[kind])}"


def shares_used(snapshot: Snapshot, boundary: Boundary) -> list[float | None]:
    """Return the shares for the summary, for truncation, and for the recorded summary."""
    summaries = (boundary.summary, boundary.truncated, boundary.recorded)
    found = used_later(snapshot, boundary, *filter(None, summaries))
    return [*found, *[None] * (3 - len(found))]


def mean(shares: Iterable[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


def percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


if __name__ == "__main__":
    main()
