"""Fail if refold became slower, relative to the peers of each bench, than was recorded.

    python -m bench.kept             compare with bench/kept.json; exit with 1 if a ratio is worse by half
    python -m bench.kept --record    measure and write bench/kept.json

Seconds depend on the machine and on what else it does, so only ratios count: the least time of refold beside the least
of a floor or a peer, and times are the processor's, so that a process does not seem slower while it waits for another.
Where a ratio is too large, its benches run again, up to five times in all, because other work on the machine can only
make a side slower: the least time of each side in all runs counts. The recorded ratios are the larger ones of two
machines, because folding a file in Python beside reading a mapped one takes twice as long on one; those of imports are
of one machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Any, Final

from bench.conftest import CORPUS
from bench.peers.stores import measure
from bench.report import run

RECORDED: Final = Path(__file__).with_suffix(".json")
WORSE: Final = 1.5
"""Refold counts as slower if a ratio has grown by this factor."""
TRIES: Final = 5
BENCHES: Final = tuple(
    f"bench/test_{name}.py"
    for name in (
        "growing_files",
        "harness_files",
        "import",
        "many_files",
        "rebuild",
        "rendering",
        "startup",
    )
)
"""The quick benches, without those of durable appends, whose ratios depend on the disk."""
SMALL: Final = "not 100k"
"""The selection of them, without those whose sessions take minutes to make."""
SHORT: Final = ("--benchmark-max-time=0.2", "--benchmark-timer=bench.kept.processor_seconds")
"""Options of a bench: its seconds, unless its five rounds take longer, and its clock."""


def processor_seconds() -> float:
    """Return the seconds of the processor that this process and the ended ones that it started have had."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Ratios:
    """The least time of each role of each group in some runs, and the benches that measured them."""

    def __init__(self, report: dict[str, Any]) -> None:
        self._least: dict[str, dict[str, float]] = {}
        self._benches: dict[str, dict[str, None]] = {}
        self.add(report)

    def add(self, report: dict[str, Any]) -> None:
        """Add the times of another run."""
        for bench in report["benchmarks"]:
            least = self._least.setdefault(bench["group"], {})
            role, took = bench["extra_info"]["role"], bench["stats"]["min"]
            least[role] = min(took, least.get(role, took))
            self._benches.setdefault(bench["group"], {})[bench["fullname"]] = None

    def ratios(self) -> dict[str, float]:
        """Return refold's ratios to the other roles, by group and role."""
        return {
            f"{group}: {role}": least["refold"] / took
            for group, least in self._least.items()
            if "refold" in least
            for role, took in least.items()
            if role != "refold"
        }

    def benches(self, names: list[str]) -> list[str]:
        """Return the benches that measure these ratios."""
        groups = {name.partition(": ")[0] for name in names}
        return [bench for group in groups for bench in self._benches.get(group, ())]


def peer_ratios() -> dict[str, float]:
    """Return refold's ratios to installed peers on a real session; none without the corpus."""
    session = CORPUS / "pi/pi-mono-before-compaction.v3.jsonl"
    if not session.exists():
        return {}
    took = measure(session, 1)
    refold = took.pop("refold")
    return {
        f"peers {what}: {name}": min(refold[which]) / min(theirs[which])
        for name, theirs in took.items()
        for which, what in enumerate(("append", "rebuild"))
    }


def worse(ratios: dict[str, float], recorded: dict[str, float]) -> list[str]:
    """Return the names of the ratios that are worse by half than the recorded ones."""
    return [name for name, ratio in ratios.items() if ratio > WORSE * recorded.get(name, float("inf"))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.kept")
    parser.add_argument("--record", action="store_true", help="write the ratios of this machine")
    if parser.parse_args().record:
        runs = [Ratios(run("-k", SMALL, *SHORT, benches=BENCHES)).ratios() | peer_ratios() for _ in range(3)]
        medians = {name: float(f"{median(each[name] for each in runs):.3g}") for name in runs[0]}
        RECORDED.write_text(json.dumps(medians, indent=1, sort_keys=True) + "\n", "utf-8")
        return
    recorded = json.loads(RECORDED.read_bytes())
    measured = Ratios(run("-k", SMALL, *SHORT, benches=BENCHES))
    peers = peer_ratios()
    for _ in range(TRIES - 1):
        if not (slower := worse(measured.ratios() | peers, recorded)):
            break
        if any(name in peers for name in slower):
            peers = {name: min(ratio, peers[name]) for name, ratio in peer_ratios().items()}
        if benches := measured.benches(slower):
            measured.add(run(*SHORT, benches=benches))
    least = measured.ratios() | peers
    lines = [
        f"{name}: {least[name]:.2f} times as long, recorded {recorded[name]:.2f}"
        for name in worse(least, recorded)
    ]
    sys.exit("\n".join(lines) if lines else None)


if __name__ == "__main__":
    main()
