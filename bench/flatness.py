"""Measure rebuilds in small and large stores, and print a table.

    python -m bench.flatness

Every context has the same number of messages, at the leaf and as of an event in the middle of the session. The rows
take turns, so that other work on the machine meets all of them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Final, NamedTuple

from bench.report import span, table, times
from bench.test_scale import message
from eventstore import EventLog, open_store
from eventstore.event import NewEvent
from eventstore.harnesses.refold.events import compose
from eventstore.records import Compaction
from projections.context.build import context_json

KEPT: Final = 20
BEHIND: Final = 40
"""Messages that a compaction keeps, and messages after it: with the summary, 61."""
BATCH: Final = 1_000
SESSION: Final = "s"
TURNS: Final = 2_000


class Shape(NamedTuple):
    """A store: the events and compactions of the session that is rebuilt, and the number of sessions."""

    events: int
    sessions: int = 1
    compactions: int = 2


SHAPES: Final = (
    Shape(1_000),
    Shape(10_000),
    Shape(100_000),
    Shape(1_000_000),
    Shape(100_000, sessions=10_000),
    Shape(100_000, compactions=1_000),
)


def fill(log: EventLog, shape: Shape) -> int:
    """Append a store's sessions; return the event in the middle as of which contexts are rebuilt."""
    apart = shape.events // shape.compactions
    batch: list[NewEvent] = []
    for number in range(1, shape.events + 1):
        if number % apart == apart - BEHIND:
            record = Compaction(summary="s", first_kept_entry_id=f"{number - KEPT:08x}", tokens_before=1)
            batch.append(compose(record, id=f"{number:08x}", time=number))
        else:
            batch.append(message(number))
        if len(batch) == BATCH or number == shape.events:
            log.append(SESSION, batch)
            batch = []
    for number in range(1, shape.sessions):
        log.append(f"session {number}", [message(number)])
    return shape.events // 2


def measured(
    shapes: Sequence[Shape], folder: Path, turns: int
) -> Iterator[tuple[Shape, list[float], list[float]]]:
    """Yield the processor seconds of each rebuild of each store, at the leaf and as of its middle event."""
    with ExitStack() as stack:
        rebuilds = []
        for number, shape in enumerate(shapes):
            log = stack.enter_context(open_store(folder / str(number), durability="batch"))
            middle = fill(log, shape)
            rebuild = partial(context_json, log, SESSION)
            counts = {found.count(b'"role"') for found in (rebuild(), rebuild(as_of=middle))}
            assert counts == {1 + KEPT + BEHIND}, counts
            rebuilds.append((shape, (rebuild, partial(rebuild, as_of=middle)), ([], [])))
        for _ in range(turns):
            for _, both, took in rebuilds:
                for each, seconds in zip(both, took, strict=True):
                    start = time.thread_time()
                    each()
                    seconds.append(time.thread_time() - start)
        for shape, _, (at_leaf, earlier) in rebuilds:
            yield shape, at_leaf, earlier


def rows(found: Sequence[tuple[Shape, list[float], list[float]]]) -> Iterator[tuple[str, ...]]:
    """Yield the table: the 50th and 99th percentile of each store, and their ratios to the first one's."""
    yield (
        "events",
        "sessions",
        "compactions",
        "leaf, p50",
        "p99",
        "earlier, p50",
        "p99",
        "÷ first: leaf, p50",
        "p99",
        "earlier, p50",
        "p99",
    )
    first: list[float] = []
    for shape, *both in found:
        figures = [cut for took in both for cut in quantiles(took, n=100)[49::49]]
        first = first or figures
        ratios = [own / least for own, least in zip(figures, first, strict=True)]
        yield (*(f"{each:,}" for each in shape), *map(span, figures), *map(times, ratios))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="refold-bench-") as folder:
        found = table(rows(list(measured(SHAPES, Path(folder), TURNS))))
    sys.stdout.write(f"{TURNS:,} rebuilds of each, processor time.\n\n{found}\n")


if __name__ == "__main__":
    main()
