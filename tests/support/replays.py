"""The figures of a session's compactions, by a replay of what was recorded and by its audit."""

from __future__ import annotations

from compaction.part import Limits
from compaction.replay import Measures, replay_session
from compaction.replay.results import Trial
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizerChain
from eventstore.log import EventLog
from projections.audit.prices import FilePrices, Price
from projections.audit.session import CompactionAudit, audit
from projections.context.cursor import path, resolve_cursor

RECORDED = Variant(name="recorded", policy=None, chain=SummarizerChain(summarizers=[]))
LIMITS = Limits(window=200_000)


def replayed_as_audited(log: EventLog, session: str) -> list[tuple[Trial, CompactionAudit]]:
    """Replay what was recorded; hold it against the audit, and return the compactions as both show them."""
    with log.snapshot() as snapshot:
        entries = path(snapshot, resolve_cursor(snapshot, session))
        results = list(replay_session(snapshot, session, [RECORDED], Measures(at="recorded", limits=LIMITS)))
    # There is no context above the first entry.
    behind = {entry.seq for entry in entries[1:]}
    audited = [each for each in audit(log, session).compactions if each.seq in behind]
    trials = [trial for each in results for trial in each.trials]
    # Of what was sent again, a replay also counts what no record holds.
    assert [
        (each.tokens_before, each.tokens_after - (each.tokens_restored or 0), each.error) for each in trials
    ] == [
        (each.before.recomputed, each.after.recomputed - each.metrics.size.restored, None) for each in audited
    ]
    return list(zip(trials, audited, strict=True))


def flat_prices(written: float) -> FilePrices:
    """A table in which only what is written to the cache costs anything."""
    price = Price(input=0, output=0, cache_read=0, cache_write_5m=written, cache_write_1h=0)
    return FilePrices(name="flat", date="", models={"": price})
