"""Run attacks for some minutes, a JSON line a try, and add what was counted to the table in docs/store.md."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from bench.faults import Attack, NotHereError
from bench.faults.clients import cut_connections, frozen_clients, stopped_writers
from bench.faults.damage import cuts, flips, index_flips
from bench.faults.files import HARNESSES, all_commands, commands, imports
from bench.faults.models import hostile_models
from bench.faults.power import power_losses
from bench.faults.purges import purges
from bench.faults.roles import hostile_roles
from bench.faults.servers import failovers, killed_servers
from bench.faults.turns import turn
from bench.faults.writers import full_disk, killed_commands, kills

ATTACKS: Final[dict[str, Attack]] = {
    "writer killed": kills,
    "writer stopped": stopped_writers,
    "command killed": killed_commands,
    "power lost": power_losses,
    "disk full": full_disk,
    "bit flipped": flips,
    "search index flipped": index_flips,
    "file cut off": cuts,
    "secret purged": purges,
    "hostile server of a model": hostile_models,
    "PostgreSQL killed": killed_servers,
    "PostgreSQL failed over": failovers,
    "hostile role in PostgreSQL": hostile_roles,
    "client of PostgreSQL frozen": frozen_clients,
    "connection to PostgreSQL cut": cut_connections,
    **{f"file damaged: {name}": partial(imports, name) for name in HARNESSES},
    **{f"one command on a damaged session: {name}": partial(commands, name) for name in HARNESSES},
    **{f"all commands on a damaged session: {name}": partial(all_commands, name) for name in HARNESSES},
}
_AIMS: Final = {
    "writer killed": (10_000, 1),
    "power lost": (10_000, 1),
    "bit flipped": (10_000, 1),
    "file damaged": (1_000_000, 6),
    "one command on a damaged session": (40_000, 2),
}
"""Tries that all runs together shall reach, and shares of the time; by the name before a harness's."""
COUNTS: Final = Path(__file__).with_name("counts.json")
PAGE: Final = Path(__file__).parents[2] / "docs/store.md"
_BEGIN, _END = "<!-- made by python -m bench.faults -->\n", "<!-- end -->\n"
_TURN: Final = 20.0
"""Seconds of an attack's turn in a long run."""


class Count(msgspec.Struct):
    """Counts of an attack."""

    tries: int = 0
    acknowledged: int = 0
    broken: int = 0


class Counts(msgspec.Struct):
    """Counts of all runs, each named by its date and seed."""

    runs: list[str] = []
    attacks: dict[str, Count] = {}


def main(arguments: list[str] | None = None) -> int:
    """Run all attacks, or those that are named; return 1 if one broke a promise."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"one of: {', '.join(ATTACKS)}")
    parser.add_argument(
        "--minutes", type=float, default=1.0, help="how long; each attack has a turn at least"
    )
    parser.add_argument("--seed", default="1", help="of a run, or of one turn: that of a printed line")
    parser.add_argument(
        "--keep", action="store_true", help="add the counts to bench/faults and docs/store.md"
    )
    given = parser.parse_args(arguments)
    before = msgspec.json.decode(COUNTS.read_bytes(), type=Counts)
    run = f"{datetime.now(UTC).date().isoformat()}, seed {given.seed}"
    # Ended like this, a run still tells what it has counted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    counted = dict[str, Count]()
    try:
        for _ in _turns({name: ATTACKS[name] for name in given.attacks or ATTACKS}, given, counted):
            if given.keep:
                _keep(added(before, counted, run))
    finally:
        for name, each in counted.items():
            told = f", {each.acknowledged:,} acknowledged" if each.acknowledged else ""
            sys.stderr.write(f"{name}: {each.tries:,} tries{told}, {each.broken:,} broken\n")
        if given.keep:
            _keep(added(before, counted, run))
    return int(any(each.broken for each in counted.values()))


def _turns(chosen: dict[str, Attack], given: argparse.Namespace, counted: dict[str, Count]) -> Iterator[None]:
    """Give turns until the time is up, each to the attack that has had the least of its share; yield after each."""
    seconds = given.minutes * 60
    ends, used, turns = time.monotonic() + seconds, dict.fromkeys(chosen, 0.0), Counter[str]()
    while used and (0 in used.values() or time.monotonic() < ends):
        name = min(used, key=used.__getitem__)
        # The seed of a line, given as that of a run, repeats the line's turn.
        seed = f"{given.seed}.{turns[name]}" if turns[name] else given.seed
        began = time.monotonic()
        try:
            for outcome in turn(chosen[name], f"{seed}:{name}", min(_TURN, seconds / len(chosen) / 2)):
                line = {"attack": name, "seed": seed, **msgspec.to_builtins(outcome)}
                sys.stdout.write(f"{json.dumps(line)}\n")
                count = counted.setdefault(name, Count())
                count.tries += 1
                count.acknowledged += outcome.acknowledged
                count.broken += bool(outcome.problem)
            used[name] += (time.monotonic() - began) / _aim(name)[1]
        except NotHereError as why:
            sys.stderr.write(f"{name}: left out: {why}\n")
            del used[name]
        turns[name] += 1
        sys.stdout.flush()
        yield


def _aim(name: str) -> tuple[int, int]:
    return _AIMS.get(name.partition(":")[0], (0, 1))


def _keep(counts: Counts) -> None:
    """Write the counts to their file and page, whole whenever the run ends."""
    for path, data in (
        (COUNTS, msgspec.json.format(msgspec.json.encode(counts), indent=1).decode() + "\n"),
        (PAGE, with_table(PAGE.read_text(), counts)),
    ):
        new = path.with_name(f".{path.name}.new")
        new.write_text(data)
        new.replace(path)


def added(counts: Counts, counted: dict[str, Count], run: str) -> Counts:
    """Return counts with those of one more run."""
    result = {name: msgspec.structs.replace(each) for name, each in counts.attacks.items()}
    for name, each in counted.items():
        so_far = result.setdefault(name, Count())
        so_far.tries += each.tries
        so_far.acknowledged += each.acknowledged
        so_far.broken += each.broken
    return Counts([*counts.runs, run], result)


def with_table(page: str, counts: Counts) -> str:
    """Return the page on the store with the table of all counts."""
    rows = ["| attack | tries | aim | appends acknowledged | broken |", "| --- | --- | --- | --- | --- |"]
    for name, each in counts.attacks.items():
        shown = f"{each.acknowledged:,}" if each.acknowledged else "-"
        aim = f"{_aim(name)[0]:,}" if name in ATTACKS and _aim(name)[0] else "-"
        rows.append(f"| {name} | {each.tries:,} | {aim} | {shown} | {each.broken:,} |")
    rows += ["", f"Runs: {'; '.join(counts.runs)}."]
    before, rest = page.split(_BEGIN)
    return before + _BEGIN + "\n".join(rows) + "\n" + _END + rest.split(_END, 1)[1]


if __name__ == "__main__":
    sys.exit(main())
