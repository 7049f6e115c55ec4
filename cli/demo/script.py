"""The demo session: a rate limiter for a small web service, and what three compactions make of it."""

from __future__ import annotations

from typing import Final

from cli.demo import ferry
from cli.demo.scenes import flake, keys, limiter, redis, share, summaries
from cli.demo.stage import Stage
from compaction.policies import preset
from eventstore.log import EventLog

SESSION: Final = "demo-rate-limiter"
"""The id of the session that `play` writes."""


def play(log: EventLog) -> str:
    """Write the demo session into a log that does not have it yet, and give its id.

    The same events every time: ids are counted, and the clock goes by what is said and done.
    """
    stage = Stage(log, SESSION, ferry.files())

    limiter.request(stage)
    limiter.bucket(stage)
    stage.prunes(longer_than=150)
    limiter.middleware(stage)
    works = limiter.description(stage)
    stage.labels(works, "works in one process")

    flake.guesses(stage)
    told = flake.clock(stage)
    before_redis = stage.compacts(summaries.FIRST, first_kept=told, reason="threshold")

    committed = dict(stage.disk)
    redis.redis(stage)
    stage.leaves(summaries.BRANCH, target=before_redis)
    stage.disk = committed
    share.share(stage)
    found = share.staging(stage)
    share.next_task(stage)
    stage.compacts(summaries.SECOND, first_kept=found, reason="manual")

    keys.rates(stage)
    keys.amends(stage)
    stage.compacts_by(preset("pi"), keep=500)
    keys.aside(stage, at=works)
    keys.ending(stage)
    return SESSION
