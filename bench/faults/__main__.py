"""Run attacks for some minutes, a JSON line a try, and add what was counted to the table in docs/store.md."""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from bench.faults import Attack, NotHereError
from bench.faults.damage import cuts, flips
from bench.faults.files import commands, imports
from bench.faults.power import power_losses
from bench.faults.servers import servers
from bench.faults.writers import full_disk, killed_commands, kills

ATTACKS: Final[dict[str, Attack]] = {
    "writer killed": kills,
    "command killed": killed_commands,
    "power lost": power_losses,
    "disk full": full_disk,
    "bit flipped": flips,
    "file cut off": cuts,
    "file damaged": imports,
    "command on a damaged session": commands,
    "PostgreSQL killed": servers,
}
COUNTS: Final = Path(__file__).with_name("counts.json")
PAGE: Final = Path(__file__).parents[2] / "docs/store.md"
_BEGIN, _END = "<!-- made by python -m bench.faults -->\n", "<!-- end -->\n"
Counts = dict[str, dict[str, Any]]


def main(arguments: list[str] | None = None) -> int:
    """Run all attacks, or those that are named; return 1 if one broke a promise."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"one of: {', '.join(ATTACKS)}")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long; each attack runs at least once")
    parser.add_argument("--seed", type=int, default=1, help="for the same attacks again")
    parser.add_argument(
        "--keep", action="store_true", help="add the counts to bench/faults and docs/store.md"
    )
    given = parser.parse_args(arguments)
    chosen = {name: ATTACKS[name] for name in given.attacks or ATTACKS}
    counted, has_broken = _run(chosen, given.minutes * 60, given.seed)
    for name, (tries, acknowledged, broken) in counted.items():
        told = f", {acknowledged:,} acknowledged" if acknowledged else ""
        sys.stderr.write(f"{name}: {tries:,} tries{told}, {broken:,} broken\n")
    if given.keep:
        kept = added(
            json.loads(COUNTS.read_text()), counted, given.seed, datetime.now(UTC).date().isoformat()
        )
        COUNTS.write_text(json.dumps(kept, indent=1) + "\n")
        PAGE.write_text(with_table(PAGE.read_text(), kept))
    return int(has_broken)


def _run(
    chosen: dict[str, Attack], seconds: float, seed: int
) -> tuple[dict[str, tuple[int, int, int]], bool]:
    """Run attacks in turn until the time is up; return tries, acknowledged appends and broken promises of each."""
    tries, acknowledged, broken = Counter[str](), Counter[str](), Counter[str]()
    ends, absent = time.monotonic() + seconds, set[str]()
    for turn in itertools.count():
        for name, attack in chosen.items():
            if name in absent or (turn and time.monotonic() > ends):
                continue
            dice, folder = Random(f"{seed}:{turn}:{name}"), Path(tempfile.mkdtemp(prefix="refold-faults-"))
            try:
                for outcome in attack(dice, folder):
                    line = {"attack": name, "seed": f"{seed}:{turn}", **msgspec.to_builtins(outcome)}
                    sys.stdout.write(f"{json.dumps(line)}\n")
                    tries[name] += 1
                    acknowledged[name] += outcome.acknowledged
                    broken[name] += bool(outcome.problem)
            except NotHereError as why:
                sys.stderr.write(f"{name}: left out: {why}\n")
                absent.add(name)
            except AssertionError as problem:
                sys.stdout.write(
                    f"{json.dumps({'attack': name, 'seed': f'{seed}:{turn}', 'problem': str(problem)[:500]})}\n"
                )
                tries[name] += 1
                broken[name] += 1
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > ends:
            break
    return {name: (tries[name], acknowledged[name], broken[name]) for name in chosen if tries[name]}, any(
        broken.values()
    )


def added(counts: Counts, counted: dict[str, tuple[int, int, int]], seed: int, date: str) -> Counts:
    """Return counts with those of one more run, of this seed on this date."""
    result = {name: dict(each) for name, each in counts.items()}
    for name, (tries, acknowledged, broken) in counted.items():
        before = result.setdefault(name, {"tries": 0, "acknowledged": 0, "broken": 0, "runs": []})
        before["tries"] += tries
        before["acknowledged"] += acknowledged
        before["broken"] += broken
        before["runs"] = [*before["runs"], f"{date}, seed {seed}"]
    return result


def with_table(page: str, counts: Counts) -> str:
    """Return the page on the store with the table of all counts."""
    rows = ["| attack | tries | appends acknowledged | broken | runs |", "| --- | --- | --- | --- | --- |"]
    for name, each in counts.items():
        shown = f"{each['acknowledged']:,}" if each["acknowledged"] else "-"
        runs = "; ".join(each["runs"])
        rows.append(f"| {name} | {each['tries']:,} | {shown} | {each['broken']:,} | {runs} |")
    before, rest = page.split(_BEGIN)
    return before + _BEGIN + "\n".join(rows) + "\n" + _END + rest.split(_END, 1)[1]


if __name__ == "__main__":
    sys.exit(main())
