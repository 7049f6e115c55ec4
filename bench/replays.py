"""Replay many boundaries of real sessions with six policies, and print the time and the private memory that it takes.

    python -m bench.replays [COPIES] [--read]

The sessions of the corpus are imported as often as COPIES says, under other names; 30 copies have about a thousand
clean boundaries. With --read, those with compactions are compacted where that was recorded, and each of these
boundaries has a reading of up to 40 facts; 170 copies have about a thousand.
Memory is the most that the command and its processes had at once, after the first third of the sessions and at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Final

import msgspec

from bench.conftest import CORPUS, REFOLD
from bench.test_memory import family, private
from compaction.judge.material import materials
from eventstore import SessionWriter, open_store
from eventstore.files.importing import import_file
from eventstore.log import EventLog
from eventstore.records import Note
from eventstore.workers import cores
from projections.audit.readings import Fact, Quotation, Reading
from projections.context.cursor import resolve_cursor

FILES: Final = (
    "pi/pi-mono-before-compaction.v3.jsonl",
    "pi/pi-mono-large-session.v1.jsonl",
    "claude-code/0708a5fa-snap3.jsonl",
    "claude-code/6113e919-3auto.jsonl",
    "claude-code/67d765b5-manual.jsonl",
    "claude-code/aefcb05b.jsonl",
)
COMPACTED: Final = (FILES[0], FILES[3], FILES[4])
POLICIES: Final = ("refold", "pi", "oh-my-pi", "opencode", "layered", "mask")


class Peak:
    """The most private memory, in kilobytes, that a process and its children had at once until now."""

    def __init__(self, pid: int) -> None:
        self.most = 0
        self._pid = pid
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.most = max(self.most, sum(map(private, family(self._pid))))
            time.sleep(1.0)


def add_readings(log: EventLog, session: str) -> None:
    """Append a made-up reading for each compaction: what 40 of the messages before it begin with is a fact."""
    with log.snapshot() as snapshot:
        found = [each for each in materials(snapshot, resolve_cursor(snapshot, session)) if each.boundary]
    for material in found:
        long = [each for each in material.before if len(each.text) > 60][:40]
        facts = [
            Fact(
                fact=f"#{each.seq}",
                kind="result",
                known=[Quotation(event=each.id, seq=each.seq, quote=" ".join(each.text.split()[:10]))],
            )
            for each in long
        ]
        reading = Reading(
            boundary=material.boundary,
            until=material.until,
            input="",
            rules=[],
            facts=facts,
            losses=[],
            refused=[],
            request={},
        )
        note = Note(target_id=material.boundary, data=msgspec.to_builtins(reading))
        SessionWriter(log, session).append(note)


def sessions(store: Path, copies: int, *, read: bool) -> Iterator[str]:
    """Import every session under so many names, with readings if these are wanted."""
    with open_store(store) as log:
        for number in range(copies):
            for place, file in enumerate(COMPACTED if read else FILES):
                import_file(log, CORPUS / file, name=f"copy-{number}-{place}")
                if read:
                    add_readings(log, f"copy-{number}-{place}")
                yield f"copy-{number}-{place}"


def replayed(store: Path, names: list[str], *options: str) -> tuple[float, int, int, str]:
    """Return the seconds, the memory after a third and at the end, and the first line of the table."""
    variants = [word for policy in POLICIES for word in ("--with", policy)]
    command = [sys.executable, *REFOLD, "--store", str(store), "replay", *variants, *options, *names]
    start, early = time.monotonic(), 0
    with tempfile.TemporaryFile() as printed:
        with subprocess.Popen(
            command, cwd=Path(__file__).parents[1], stdout=printed, stderr=subprocess.PIPE
        ) as process:
            assert process.stderr is not None
            peak = Peak(process.pid)
            for done, _ in enumerate(process.stderr, 1):
                early = peak.most if done == len(names) // 3 else early
                progress("replayed", done, len(names), time.monotonic() - start)
        took = time.monotonic() - start
        assert process.returncode == 0
        printed.seek(0)
        return took, early, peak.most, printed.readline().decode().strip()


def progress(what: str, done: int, of: int, seconds: float) -> None:
    """Print how far a run is, after each tenth of it."""
    if done % max(of // 10, 1) == 0 or done == of:
        sys.stderr.write(f"{what} {done:,} of {of:,} sessions in {seconds:,.0f} s\n")
        sys.stderr.flush()


def used() -> float:
    """Return the seconds of a core that ended processes have used."""
    return sum(getrusage(RUSAGE_CHILDREN)[:2])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.replays")
    parser.add_argument("copies", nargs="?", type=int, default=30)
    parser.add_argument("--read", action="store_true")
    wanted = parser.parse_args()
    options = ("--at", "recorded") if wanted.read else ()
    with tempfile.TemporaryDirectory(prefix="refold-bench-") as folder:
        names, start = list[str](), time.monotonic()
        of = len(COMPACTED if wanted.read else FILES) * wanted.copies
        for name in sessions(Path(folder, "store"), wanted.copies, read=wanted.read):
            names.append(name)
            progress("imported", len(names), of, time.monotonic() - start)
        for which in ("first run", "second run"):
            before = used()
            took, early, most, table = replayed(Path(folder, "store"), names, *options)
            sys.stdout.write(
                f"{which}: {table}; {len(POLICIES)} variants, {cores()} cores: {took:,.0f} s;"
                f" {used() - before:,.0f} s of a core;"
                f" private memory {early:,} kB after a third, {most:,} kB in all\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
