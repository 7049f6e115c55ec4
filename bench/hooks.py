"""Time what a compaction waits for: both calls of `refold hook` on a session of 5 MB, beside a bare start.

    python -m bench.hooks

The session grows by a turn before each of 50 compactions. All three take turns, since other work varies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

SESSION = "22222222-2222-4222-8222-222222222222"
BYTES = 5_000_000
COMPACTIONS = 50
REFOLD = (sys.executable, "-c", "from cli.start import main; main()")
"""The command as it is installed: `-m refold` loads the package for programs, too."""


class Session:
    """A session file of Claude Code that grows."""

    def __init__(self, path: Path) -> None:
        self.path, self._turns, self._above = path, 0, ""
        while not path.exists() or path.stat().st_size < BYTES:
            self.grow()

    def grow(self) -> None:
        """Append a turn: a question, a call, its result, an answer."""
        self._turns += 1
        call = {"id": f"t{self._turns}", "name": "Read", "input": {"file_path": f"/p/{self._turns % 40}.py"}}
        result = {"tool_use_id": f"t{self._turns}", "content": "value = 1\n" * 250}
        contents: list[tuple[str, Any]] = [
            ("user", f"Change {self._turns}.py so that it returns {self._turns}. " + "Why? " * 20),
            ("assistant", [{"type": "tool_use", **call}]),
            ("user", [{"type": "tool_result", **result}]),
            ("assistant", [{"type": "text", "text": "Done. " * 60}]),
        ]
        with self.path.open("a") as file:
            for place, (role, content) in enumerate(contents):
                uuid = f"{self._turns:08x}-0000-4000-8000-{place:012x}"
                message = {"role": role, "content": content}
                if role == "assistant":
                    message |= {"id": f"msg_{uuid}", "type": "message", "model": "claude-sonnet-4-5"}
                record = {"type": role, "uuid": uuid, "parentUuid": self._above or None, "message": message}
                record |= {
                    "sessionId": SESSION,
                    "timestamp": "2026-11-01T10:00:00.000Z",
                    "version": "2.1.331",
                }
                file.write(json.dumps({**record, "cwd": "/p", "isSidechain": False}) + "\n")
                self._above = uuid


def main() -> None:
    """Print the median and p95 of each in milliseconds, and the ratio to the bare start."""
    with tempfile.TemporaryDirectory(prefix="refold-hooks-") as folder:
        session = Session(Path(folder, f"{SESSION}.jsonl"))
        environment = {**os.environ, "REFOLD_STORE": str(Path(folder, "store"))}

        def run(*words: str, event: str = "", **more: str) -> float:
            given = {"hook_event_name": event, "transcript_path": str(session.path), **more}
            began = time.perf_counter()
            ran = subprocess.run(
                [*REFOLD, *words],
                input=json.dumps(given).encode(),
                env=environment,
                capture_output=True,
                check=True,
            )
            assert ran.stdout or event == "SessionEnd"
            return time.perf_counter() - began

        hook = ("hook", "claude-code", "--timeout", "60")
        run(*hook, event="SessionEnd")
        times: dict[str, list[float]] = {"--help": [], "PreCompact": [], "Compacted": [], "both": []}
        for _ in range(COMPACTIONS):
            session.grow()
            times["--help"].append(run("--help"))
            times["PreCompact"].append(run(*hook, event="PreCompact"))
            times["Compacted"].append(run(*hook, event="Compacted", summary="words " * 2_000))
            times["both"].append(times["PreCompact"][-1] + times["Compacted"][-1])
    for name, found in times.items():
        middle, p95 = median(found), quantiles(found, n=20)[-1]
        ratio = middle / median(times["--help"])
        sys.stdout.write(
            f"{name:<10}  {middle * 1000:6.0f} ms  p95 {p95 * 1000:6.0f} ms  {ratio:4.1f} starts\n"
        )


if __name__ == "__main__":
    main()
