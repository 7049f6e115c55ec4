"""Time the first answer of a new `refold mcp` about a session of 10 MB.

    python -m bench.recall

The server has a working folder without sessions, so that it cannot prepare for the question. The word is in no event:
all are read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.conftest import REFOLD
from bench.hooks import COMPILED
from bench.sessions import session_file, session_name

EVENTS, MESSAGES = 4_600, 60
ROUNDS = 10
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_ASKED = {"name": "recall", "arguments": {"query": "xylophone", "session": session_name(EVENTS, MESSAGES)}}


def main() -> None:
    """Print the median and the largest time of each step, in milliseconds, and processor time."""
    file = session_file(EVENTS, MESSAGES)
    times: dict[str, list[tuple[float, float]]] = {}

    @contextmanager
    def timed(step: str, pid: int) -> Iterator[None]:
        began = time.perf_counter(), _processor_time(pid)
        yield
        took = time.perf_counter() - began[0], _processor_time(pid) - began[1]
        times.setdefault(step, []).append(took)

    with tempfile.TemporaryDirectory(prefix="refold-recall-") as folder:
        environment = {**os.environ, "REFOLD_STORE": str(Path(folder, "store")), **COMPILED}
        for _ in range(ROUNDS):
            with subprocess.Popen(
                [sys.executable, *REFOLD, "sync", str(file)], env=environment, stdout=subprocess.DEVNULL
            ) as ran:
                assert ran.wait() == 0
            with subprocess.Popen(
                [sys.executable, *REFOLD, "mcp"],
                env=environment,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            ) as server:
                with timed("start", server.pid):
                    _call(server, 1, "initialize", _HELLO)
                for step in ("first answer", "second answer"):
                    with timed(step, server.pid):
                        answer = _call(server, 2, "tools/call", _ASKED)
                        assert not answer["isError"]
                server.communicate()
    for step, both in times.items():
        told = "  ".join(
            f"{median(each) * 1000:6.0f} ms, at most {max(each) * 1000:6.0f}"
            for each in zip(*both, strict=True)
        )
        sys.stdout.write(f"{step:<13}  {told} of the processor\n")


def _call(server: subprocess.Popen[bytes], number: int, method: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call."""
    asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": given}
    assert server.stdin
    assert server.stdout
    server.stdin.write(json.dumps(asked).encode() + b"\n")
    server.stdin.flush()
    result: dict[str, Any] = json.loads(server.stdout.readline())["result"]
    return result


def _processor_time(pid: int) -> float:
    """Return the seconds that a running process has used, on Linux."""
    return time.clock_gettime(~pid << 3 | 2)


if __name__ == "__main__":
    main()
