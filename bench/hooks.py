"""Time what a compaction waits for: the calls of `refold hook` on a session of 5 MB, beside a bare start.

    python -m bench.hooks HARNESS

The session grows by a turn before each of 50 compactions. All calls take turns, since other work varies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from sqlite3 import connect
from statistics import median, quantiles
from typing import Any

from tests.support import codex, oh_my_pi_sessions, opencode
from tests.support.pi_files import entry, header

BYTES = 5_000_000
COMPACTIONS = 50
SESSION = "22222222-2222-4222-8222-222222222222"
SUMMARY = "words " * 2_000
REFOLD = (sys.executable, "-c", "from cli.start import main; main()")
"""The command as it is installed: `-m refold` loads the package for programs, too."""
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""An installed package is compiled."""


class ClaudeCode:
    """A session file that grows. Claude Code tells of a compaction before it records it."""

    session = SESSION
    compacted = "Compacted"
    asks_before = True

    def __init__(self, folder: Path) -> None:
        self.path, self._above = folder / f"{SESSION}.jsonl", ""
        self._write(self.first())

    def first(self) -> bytes:
        """Return the first lines of a file."""
        return b""

    def grow(self, number: int) -> None:
        """Append a turn: a question, a call, its result, an answer."""
        self._write(b"".join(self.turn(*_turn(number), number)))

    def turn(self, asked: str, file: str, result: str, answer: str, number: int) -> list[bytes]:
        """Return the lines of a turn."""
        call = {"id": f"t{number}", "name": "Read", "input": {"file_path": file}}
        contents: list[tuple[str, Any]] = [
            ("user", asked),
            ("assistant", [{"type": "tool_use", **call}]),
            ("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": result}]),
            ("assistant", [{"type": "text", "text": answer}]),
        ]
        lines = []
        for place, (role, content) in enumerate(contents):
            uuid = f"{number:08x}-0000-4000-8000-{place:012x}"
            message = {"role": role, "content": content}
            if role == "assistant":
                message |= {"id": f"msg_{uuid}", "type": "message", "model": "claude-sonnet-4-5"}
            record = {"type": role, "uuid": uuid, "parentUuid": self._above or None, "message": message}
            record |= {"sessionId": SESSION, "timestamp": "2026-11-01T10:00:00.000Z", "version": "2.1.331"}
            lines.append(json.dumps({**record, "cwd": "/p", "isSidechain": False}).encode() + b"\n")
            self._above = uuid
        return lines

    def compact(self, number: int) -> None:
        """Record a compaction."""

    def _write(self, lines: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(lines)


class Pi(ClaudeCode):
    """A session file of pi."""

    asks_before = False

    def first(self) -> bytes:
        return header(session=SESSION)

    def turn(self, asked: str, file: str, result: str, answer: str, number: int) -> list[bytes]:
        call = {"type": "toolCall", "id": f"t{number}", "name": "read", "arguments": {"path": file}}
        texts = [[{"type": "text", "text": each}] for each in (result, answer)]
        return [
            self._entry(number, "message", message={"role": role, "timestamp": 1, **message})
            for role, message in (
                ("user", {"content": asked}),
                ("assistant", {"content": [call]}),
                ("toolResult", {"toolCallId": call["id"], "toolName": "read", "content": texts[0]}),
                ("assistant", {"content": texts[1]}),
            )
        ]

    def compact(self, number: int) -> None:
        kept = self._above
        self._write(
            self._entry(number, "compaction", summary=SUMMARY, firstKeptEntryId=kept, tokensBefore=90_000)
        )

    def _entry(self, number: int, kind: str, **fields: Any) -> bytes:
        above = self._above
        place = int(above.partition("-")[2]) + 1 if above else 0
        self._above = f"{number}-{place}"
        return entry(self._above, above or None, kind, **fields)


class OhMyPi(Pi):
    """A session file of oh-my-pi."""

    asks_before = True

    def first(self) -> bytes:
        return oh_my_pi_sessions.slot() + super().first()


class Codex(ClaudeCode):
    """A rollout of Codex."""

    session = codex.THREAD
    compacted = "SessionStart"

    def first(self) -> bytes:
        return codex.meta()

    def turn(self, asked: str, file: str, result: str, answer: str, number: int) -> list[bytes]:
        call = codex.called(f"t{number}", cmd=f"cat {file}")
        items = (codex.said(asked), call, codex.output(f"t{number}", result), codex.answered(answer))
        return [codex.line("response_item", each) for each in items]

    def compact(self, number: int) -> None:
        self._write(codex.compacted("", codex.said(f"Go on {number}."), codex.said(SUMMARY)))


class Opencode:
    """A session in a database of opencode."""

    session = opencode.SESSION
    compacted = "Compacted"
    asks_before = True

    def __init__(self, folder: Path) -> None:
        self._database = opencode.Database(folder)
        self._database.begin()
        self.path = self._database.path
        with closing(connect(self.path)) as database, database:
            database.execute("CREATE INDEX event_aggregate_seq_idx ON event (aggregate_id, seq)")

    def grow(self, number: int) -> None:
        asked, file, result, answer = _turn(number)
        name = f"msg_{number:08}"
        self._database.ask(f"{name}a", asked)
        self._database.message(f"{name}b", "assistant")
        self._database.call(f"{name}b", f"prt_{name}", input={"filePath": file}, output=result)
        self._database.message(f"{name}b", "assistant", finish="tool-calls")
        self._database.answer(f"{name}c", answer)

    def compact(self, number: int) -> None:
        self._database.compact(f"msg_{number:08}d", f"msg_{number:08}e", SUMMARY)


def _turn(number: int) -> tuple[str, str, str, str]:
    """Return a question, the file that is read, its text, and an answer."""
    asked = f"Change {number}.py so that it returns {number}. " + "Why? " * 20
    return asked, f"/p/{number % 40}.py", "value = 1\n" * 250, f"Done: {number}. " * 40


HARNESSES: dict[str, Callable[[Path], ClaudeCode | Opencode]] = {
    "claude-code": ClaudeCode,
    "codex": Codex,
    "oh-my-pi": OhMyPi,
    "opencode": Opencode,
    "pi": Pi,
}


def main(harness: str) -> None:
    """Print the median and p95 of each in milliseconds, its ratio to the bare start, and processor time."""
    with tempfile.TemporaryDirectory(prefix="refold-hooks-") as folder:
        session, turns = HARNESSES[harness](Path(folder)), count(1)
        while session.path.stat().st_size < BYTES:
            session.grow(next(turns))
        environment = {**os.environ, "REFOLD_STORE": str(Path(folder, "store")), **COMPILED}

        def run(*words: str, event: str = "", **more: str) -> tuple[float, float]:
            given = {
                "hook_event_name": event,
                **more,
                "transcript_path": str(session.path),
                "session_id": session.session,
            }
            began, used = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
            ran = subprocess.run(
                [*REFOLD, *words],
                input=json.dumps(given).encode(),
                env=environment,
                capture_output=True,
                check=True,
            )
            assert ran.stdout or event == "SessionEnd" or (harness, event) == ("codex", "PreCompact")
            took, after = time.perf_counter() - began, getrusage(RUSAGE_CHILDREN)
            return took, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime

        hook = ("hook", harness, "--timeout", "60")
        run(*hook, event="SessionEnd")
        times: dict[str, list[tuple[float, float]]] = {}
        for number in islice(turns, COMPACTIONS):
            session.grow(number)
            found = {"--help": run("--help")}
            if session.asks_before:
                found["before"] = run(*hook, event="PreCompact")
            session.compact(number)
            found["behind"] = run(*hook, event=session.compacted, source="compact", summary=SUMMARY)
            found["all calls"] = tuple(map(sum, zip(*list(found.values())[1:], strict=True)))
            for name, took in found.items():
                times.setdefault(name, []).append(took)
    for name, both in times.items():
        (middle, p95), (used, most) = (
            (median(each), quantiles(each, n=20)[-1]) for each in zip(*both, strict=True)
        )
        ratio = middle / median(took for took, _ in times["--help"])
        sys.stdout.write(
            f"{name:<10}  {middle * 1000:6.0f} ms  p95 {p95 * 1000:6.0f} ms  {ratio:4.1f} starts"
            f"  processor {used * 1000:6.0f} ms  p95 {most * 1000:6.0f} ms\n"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
