"""Measure what `prompting.from = "log"` preserves under the policy `layered`.

Run `python -m bench.from_log FOLDER` with the folder of real sessions. Each is rewritten and summarized,
without a model, at a quarter, half and three quarters. It prints a table for the docs: how many messages the
summarizer reads, and the share of later used things that the context names after the summary.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from bench.boundaries import FILES, PLACES, Boundary, used_later
from bench.extractive import mean, percent, say
from compaction.part import Limits
from compaction.plan import Plan, plan_compaction
from compaction.policy.load import load_preset
from compaction.policy.model import MessageSource
from compaction.rewriting import record_rewrites
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.summary import summarize_plan
from eventstore import import_file, open_store
from eventstore.event import Event
from eventstore.lmdb.store import LmdbLog
from eventstore.writing import SessionWriter
from projections.context.cursor import path, resolve_cursor
from projections.tokens import counter

SOURCES: Final[tuple[MessageSource, ...]] = ("context", "log")
_LAYERED: Final = load_preset("layered")
_TOKENS: Final = counter(_LAYERED.counter)
_HEAD: Final = (
    "session",
    "at",
    *(f"{what} {each}" for each in SOURCES for what in ("read from", "used later,")),
)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("name the folder of real sessions: python -m bench.from_log FOLDER")
    say(_HEAD)
    say(["---"] * len(_HEAD))
    for file in FILES:
        with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store") as log:
            session = import_file(log, Path(sys.argv[1]) / "pi" / file).id
            with log.snapshot() as snapshot:
                entries = path(snapshot, resolve_cursor(snapshot, session))
            found = []
            for quarter in range(1, PLACES):
                place = len(entries) * quarter // PLACES - 1
                # A request follows a person's message or a result.
                while entries[place].role in ("", "assistant"):
                    place -= 1
                read, shares = zip(*(_measured(log, entries, place, each) for each in SOURCES), strict=True)
                cells = (
                    each for pair in zip(map(str, read), map(percent, shares), strict=True) for each in pair
                )
                say([file.partition(".")[0], f"#{entries[place].seq}", *cells])
                found.append(shares)
            means = [percent(mean(column)) for column in zip(*found, strict=True)]
            say([file.partition(".")[0], "mean", *(cell for each in means for cell in ("", each))])


def _measured(
    log: LmdbLog, entries: list[Event], place: int, source: MessageSource
) -> tuple[int, float | None]:
    """Return how many messages are read at a place, and the share of later used things named."""
    prompting = msgspec.structs.replace(_LAYERED.prompting, source=source)
    policy = msgspec.structs.replace(_LAYERED, prompting=prompting)
    leaf = entries[place]
    with log.snapshot() as snapshot:
        since = snapshot.head(leaf.session).version
    writer = SessionWriter(log, leaf.session)
    rewritten = record_rewrites(writer, policy.rewrites, tokens=_TOKENS, leaf=leaf.id, since=since).events
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, leaf.session, leaf=[leaf.id, *rewritten][-1])
        plan = plan_compaction(snapshot, cursor, policy, limits=Limits(window=200_000), tokens=_TOKENS)
        assert isinstance(plan, Plan)
        chain = SummarizerChain(summarizers=[ExtractiveSummarizer()])
        boundary = Boundary(
            session=leaf.session,
            name=source,
            leaf=leaf.id,
            first_kept=plan.cut.first_kept,
            parts=plan.to_summarize,
            later=entries[place + 1 :],
            summary=summarize_plan(plan, prompting, chain, tokens=_TOKENS).text,
        )
        return len(plan.to_summarize), used_later(snapshot, boundary, boundary.summary)[0]


if __name__ == "__main__":
    main()
