"""Kill PostgreSQL under eight writers, and let it fail over to its synchronous standby."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.faults import NotHereError, Outcome
from tests.support.failing_servers import fail_often
from tests.support.postgres import missing, new_folder


def killed_servers(dice: Random, folder: Path) -> Iterator[Outcome]:  # noqa: ARG001  a server needs a short path
    """Kill the primary thrice a round; nothing acknowledged is lost or doubled."""
    return _rounds(dice, "kills", 3)


def failovers(dice: Random, folder: Path) -> Iterator[Outcome]:  # noqa: ARG001
    """Kill the primary and promote its standby; writers append again what was not acknowledged."""
    return _rounds(dice, "failovers", 1)


def _rounds(dice: Random, kind: str, count: int) -> Iterator[Outcome]:
    if why := missing():
        raise NotHereError(why)
    # That appends wait while a server is down is what this is about.
    logging.getLogger("refold").setLevel(logging.ERROR)
    while True:
        place = new_folder()
        place.chmod(0o755)
        try:
            often = {"kills": 0, "failovers": 0, kind: count}
            told = fail_often(place, **often, seed=dice.randrange(1 << 30))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        yield Outcome(of=kind, acknowledged=sum(told.values()))
        yield from (Outcome(of=kind) for _ in range(count - 1))
