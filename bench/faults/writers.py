"""Kill what writes: appends at any moment, and every command that writes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from resource import RLIM_INFINITY, RLIMIT_FSIZE, setrlimit

from bench.faults import Outcome, apart
from eventstore import import_file, open_store
from eventstore.errors import StoreError
from eventstore.verify import verify
from tests.processes.test_kills import VICTIMS, Witness, have_killed, moment
from tests.support.events import event, events
from tests.support.pi_files import header, said
from tests.support.processes import running
from tests.support.victims import Kill

_RUN = "from cli.main import main; main()"
_COMMANDS = (
    ["sync", "FILE"],
    ["go", "s", "#2"],
    ["fork", "s", "--as", "forked"],
    ["label", "s", "#2", "a label"],
    ["prune", "s", "--policy", "mask"],
    ["compact", "s", "--keep-recent", "0", "--summarizer", "extractive"],
    ["handoff", "s", "--as", "handed", "--summarizer", "extractive"],
    ["append", "s"],
    ["backup", "COPY"],
    ["push", "COPY"],
    ["purge", "s", "--match", "text number 3", "--yes"],
)


def kills(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Kill writers of one store 25 times; look at the store after each."""
    path = folder / "store"
    durability, threads = dice.choice([("each", 1), ("batch", 3)])
    witness = Witness(path)
    with running(VICTIMS) as victims:
        try:
            for number in range(25):
                kill = Kill(str(path), f"w{number}", durability, threads, *moment(dice))
                told = have_killed(victims, kill)
                witness.look(told)
                yield Outcome(of=durability, acknowledged=len(told))
        except GeneratorExit:
            # The turn is over; what it has left is looked at all the same.
            pass
        witness.check_sound()


def killed_commands(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Kill one writing command at a random moment; then the store is sound, and the command ends well."""
    file = folder / "session.jsonl"
    lines = [said(f"text number {at} " * 40, f"e{at}", f"e{at - 1}" if at else None) for at in range(60)]
    file.write_bytes(header(session="s") + b"".join(lines[:40]))
    store = folder / "store"
    with open_store(store) as log:
        import_file(log, file)
    with file.open("ab") as more:
        more.write(b"".join(lines[40:]))
    chosen = dice.choice(_COMMANDS)
    names = {"FILE": str(file), "COPY": str(folder / "copy")}
    arguments = [
        sys.executable,
        "-c",
        _RUN,
        "--store",
        str(store),
        *(names.get(each, each) for each in chosen),
    ]
    given = b'{"type":"custom","customType":"x"}\n' if chosen[0] == "append" else b""
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
    )
    with suppress(BrokenPipeError), process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.close()
        time.sleep(dice.uniform(0.1, 1.2))
        process.kill()
    with open_store(store) as log:
        problem = "; ".join(each.problem for each in verify(log).findings)
        if not {f"e{at}" for at in range(40)} <= {each.id for each in events(log, "s")}:
            problem = "events are missing"
    again = subprocess.run(arguments, input=given, capture_output=True, check=False, cwd=folder, timeout=120)
    # What was killed may have done its work, so that the second run finds its name taken.
    if again.returncode not in {0, 1}:
        problem = problem or again.stderr.decode()[-300:]
    yield Outcome(of=chosen[0], problem=problem)


def full_disk(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Append until the file may not grow any more; what was acknowledged is there, and the store goes on."""
    path, told = folder / "store", folder / "told"
    limit = dice.randint(100_000, 2_000_000)

    def fill() -> str:
        setrlimit(RLIMIT_FSIZE, (limit, RLIM_INFINITY))
        with open_store(path) as log, told.open("w") as out:
            for number in range(10_000):
                try:
                    log.append("s", [event(f"e{number}", data="x" * dice.randint(1, 20_000))])
                except StoreError:
                    return ""
                out.write(f"e{number}\n")
                out.flush()
        return "it never was full"

    problem = apart(fill)
    acknowledged = told.read_text().split() if told.exists() else []
    if not problem.startswith("StoreError"):
        with open_store(path) as log:
            found = [each.id for each in events(log, "s")] if acknowledged else []
            sound = verify(log).findings == []
            log.append("s", [event("after")])
        problem = problem or ("" if sound and found == acknowledged else "acknowledged appends are missing")
    else:
        problem = ""
    yield Outcome(of="limit of a file's size", acknowledged=len(acknowledged), problem=problem)
