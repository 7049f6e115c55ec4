"""Kill PostgreSQL under eight writers, and let it fail over to its replica."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.faults import NotHereError, Outcome
from tests.support.failing_servers import fail_often
from tests.support.postgres import missing, new_folder

KILLS, FAILOVERS = 3, 1


def servers(dice: Random, folder: Path) -> Iterator[Outcome]:  # noqa: ARG001  a server needs a short path
    """Kill the primary thrice, and promote its replica once; nothing acknowledged is lost or doubled."""
    if why := missing():
        raise NotHereError(why)
    # That appends wait while a server is down is what this is about.
    logging.getLogger("refold").setLevel(logging.ERROR)
    place = new_folder()
    place.chmod(0o755)
    told = fail_often(place, kills=KILLS, failovers=FAILOVERS, seed=dice.randrange(1 << 30))
    yield Outcome(of="kills", acknowledged=sum(told.values()))
    yield from (Outcome(of="kills") for _ in range(KILLS - 1))
    yield from (Outcome(of="failovers") for _ in range(FAILOVERS))
