from __future__ import annotations

import re
import time

from eventstore.event import epoch_milliseconds, random_id


def test_the_clock_gives_milliseconds_since_the_epoch() -> None:
    before = time.time() * 1000
    assert before - 1 <= epoch_milliseconds() <= time.time() * 1000 + 1


def test_ids_are_eight_hex_digits() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}", random_id())


def test_ids_differ() -> None:
    assert len({random_id() for _ in range(100)}) > 95
