"""The demo session: a rate limiter for a small web service, and what compactions make of its rules."""

from __future__ import annotations

from typing import Final

from cli.demo import ferry
from cli.demo.rehearsal import Rehearsal
from cli.demo.scenes import flake, keys, limiter, redis, share
from cli.demo.stage import Stage
from eventstore.log import EventLog

SESSION: Final = "demo-rate-limiter"
"""The id of the session that `play` writes."""


def play(log: EventLog) -> str:
    """Write the demo session into a log that does not have it yet, and give its id.

    What is said and done is scripted; what is pruned, compacted and summarized is refold's own work, and so is
    what gets lost. The same events every time: ids are counted, and the clock goes by what is said and done.
    """
    rehearsal = Rehearsal()
    _play(Stage(rehearsal, SESSION, ferry.files()))
    log.append(SESSION, rehearsal.appended)
    return SESSION


def _play(stage: Stage) -> None:
    limiter.request(stage)
    limiter.bucket(stage)
    limiter.middleware(stage)
    works = limiter.description(stage)
    stage.labels(works, "works in one process")

    flake.guesses(stage)
    flake.clock(stage)

    committed, here = dict(stage.disk), stage.leaf()
    redis.redis(stage)
    stage.disk = committed
    stage.gives_up_for(here)
    share.share(stage)
    share.staging(stage)
    share.next_task(stage)

    keys.rates(stage)
    keys.amends(stage)
    stage.compacts()
    keys.aside(stage, at=works)
    keys.ending(stage)
