"""Measure the cost of a long or killed reader: the size of the store's file after commits.

python -m bench.readers [COMMITS]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from eventstore import NewEvent, open_store
from eventstore.lmdb import environment

HOLD = """
import sys
from eventstore import open_store
with open_store(sys.argv[1]) as log, log.snapshot():
    print("reading", flush=True)
    sys.stdin.readline()
"""


def report(folder: Path, commits: int, reader: str) -> None:
    """Print a store's file size after many appends of a kilobyte beside such a reader."""
    path = folder / reader.replace(" ", "-")
    with open_store(path) as log:
        log.append("s", [event(0)])
    holding = None
    if reader != "none":
        holding = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert holding.stdout is not None
        assert holding.stdout.readline()
    with open_store(path) as log:
        if holding is not None and reader != "alive":
            holding.kill()
            holding.wait()
        for number in range(1, commits + 1):
            log.append("s", [event(number)])
        size = log.size()
    if holding is not None:
        holding.communicate()
    free = f"{size.free_bytes / 1e6:8.1f} MB of it free"
    sys.stdout.write(f"{reader:24} {size.file_bytes / 1e6:8.1f} MB, {free}\n")


def event(number: int) -> NewEvent:
    return NewEvent(
        id=f"e{number}", kind="custom", body=b'{"type":"custom","data":"%s"}' % (b"x" * 1000), format="pi/3"
    )


def main() -> None:
    commits = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    sys.stdout.write(f"{commits:,} appends of a kilobyte each\n")
    with tempfile.TemporaryDirectory() as folder:
        report(Path(folder), commits, "none")
        report(Path(folder), commits, "alive")
        report(Path(folder), commits, "dead")
        environment._COMMITS_A_CHECK = sys.maxsize  # type: ignore[misc]  # noqa: SLF001
        report(Path(folder), commits, "dead, never looked for")


if __name__ == "__main__":
    main()
