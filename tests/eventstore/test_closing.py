"""Closing a store while it is read: what reads goes on to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.errors import StoreError
from eventstore.frame import decode
from tests.support.events import message

READ_AFTER_CLOSING = """
import sys
from eventstore import open_store
from tests.support.events import message
log = open_store(sys.argv[1])
log.append("s", [message("a")])
with log.snapshot() as snapshot:
    frame = snapshot.frame("s", 1)
    log.close()
    print(len(bytes(frame)) > 0, len(list(snapshot.frames("s"))))
"""


@pytest.mark.slow
def test_a_frame_may_be_read_after_its_store_was_closed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ_AFTER_CLOSING, tmp_path / "store"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stdout) == (0, "True 1\n")


def test_a_store_closed_while_it_is_read_takes_no_more(tmp_path: Path) -> None:
    log = open_store(tmp_path / "store")
    log.append("s", [message("a")])
    with log.snapshot():
        log.close()
        with pytest.raises(StoreError):
            log.append("s", [message("b")])
        with pytest.raises(StoreError), log.snapshot():
            pass


def test_a_store_closed_while_it_is_read_opens_again_when_that_is_over(tmp_path: Path) -> None:
    log = open_store(tmp_path / "store")
    log.append("s", [message("a")])
    with log.snapshot() as snapshot:
        log.close()
        assert decode(snapshot.frame("s", 1), "s").id == "a"
    with open_store(tmp_path / "store") as again, again.snapshot() as snapshot:
        assert snapshot.head("s").version == 1
