"""Run the benches and write the tables of docs/benchmarks.md: `python -m bench.report DATE`.

A ratio compares the medians of one run, whose sides are minutes apart at most. The page shows the median of
several runs' ratios, so that a burst of other work in one of them does not decide. Each expectation is shown
beside the measurement, met or not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import lmdb

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "benchmarks.md"
BEGIN: Final = "<!-- measured: begin -->"
END: Final = "<!-- measured: end -->"

TIMES: Final = "\N{MULTIPLICATION SIGN}"


class Limit(NamedTuple):
    """An expected ratio: a maximum, or a minimum with `is_least`."""

    bound: float
    is_least: bool = False

    def verdict(self, ratio: float) -> str:
        is_met = ratio >= self.bound if self.is_least else ratio <= self.bound
        return "met" if is_met else "**not met**"

    def __str__(self) -> str:
        return f"{'≥' if self.is_least else '≤'} {self.bound:g} {TIMES}"


TO_THE_FLOOR: Final = Limit(2)
HISTORIES: Final = ("1k", "100k")
"""The shortest and the longest history, whose rebuilds the page shows."""


class Comparison(NamedTuple):
    """A comparison of refold with another role of a group, as slower or faster."""

    group: str
    what: str
    role: str
    beside: str
    limit: Limit
    is_faster: bool = False


COMPARISONS: Final = (
    Comparison("append", "durable append of one event", "same rows", "LMDB: the same rows", Limit(1.3)),
    Comparison(
        "real-session",
        "open + rebuild of `pi-mono-before-compaction`",
        "json fold",
        "JSON fold of the file",
        Limit(10, is_least=True),
        is_faster=True,
    ),
    Comparison("startup", "`refold --help`", "python -c pass", "`python -c pass`", Limit(5)),
    Comparison(
        "startup-context",
        "`refold context --format native`, 60 messages",
        "python -c pass",
        "`python -c pass`",
        Limit(8),
    ),
    Comparison("startup-text", "`refold context`, the same", "python -c pass", "`python -c pass`", Limit(8)),
    Comparison("import", "import of 10,000 events", "json", "`json.loads` of every line", Limit(2)),
    Comparison(
        "oh-my-pi-import",
        "import of 10,000 events of oh-my-pi",
        "json",
        "`json.loads` of every line",
        Limit(2),
    ),
    Comparison(
        "claude-code-import",
        "import of 893 records of Claude Code",
        "json",
        "`json.loads` of every line",
        Limit(2),
    ),
    Comparison(
        "batch-1000", "append of 1,000 events at once", "floor", "LMDB: the events' rows alone", Limit(5)
    ),
    Comparison(
        "eight-writers",
        "eight threads, 40 appends each, sharing flushes",
        "each",
        "a flush for each append",
        Limit(0.5),
    ),
    Comparison("overviews", "cached figures of 2,000 sessions", "heads", "reading their heads", Limit(4)),
    Comparison(
        "search",
        "search of 10,000 events, 20 results",
        "scan",
        "scanning the log",
        Limit(10, is_least=True),
        is_faster=True,
    ),
    Comparison(
        "audit-again", "second audit of 2,000 events, unchanged", "import", "importing them", Limit(1)
    ),
    Comparison(
        "compaction-60-10k",
        "cut and extractive summary, 60 messages after 10,000 events",
        "import",
        "importing them",
        Limit(1),
    ),
    Comparison(
        "compaction-1000-10k", "the same, 1,000 messages after 10,000", "import", "importing them", Limit(1)
    ),
    Comparison("compaction-1000-100k", "the same after 100,000 events", "import", "importing them", Limit(1)),
)


class Runs:
    """The medians of several runs of all benches, by group and role."""

    def __init__(self, reports: list[dict[str, Any]]) -> None:
        self.machine: dict[str, Any] = reports[0]["machine_info"]
        self.number = len(reports)
        self._medians: dict[str, dict[str, list[float]]] = {}
        for bench in (bench for report in reports for bench in report["benchmarks"]):
            role, took = bench["extra_info"]["role"], bench["stats"]["median"]
            self._medians.setdefault(bench["group"], {}).setdefault(role, []).append(took)

    @property
    def groups(self) -> list[str]:
        return list(self._medians)

    def has(self, group: str, *roles: str) -> bool:
        return all(role in self._medians.get(group, {}) for role in roles)

    def took(self, group: str, role: str = "refold") -> float:
        """Return the median of the runs' medians, in seconds."""
        return median(self._medians[group][role])

    def ratio(self, group: str, role: str, beside: str, other_group: str = "") -> float:
        """Return the median of the runs' ratios between two roles."""
        others = self._medians[other_group or group][beside]
        return median(one / other for one, other in zip(self._medians[group][role], others, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.report", description="Run the benches, write the page."
    )
    parser.add_argument("date", help="the day of the run, as the page shall say it")
    parser.add_argument("--runs", type=int, default=3, help="how often everything is run (3)")
    options = parser.parse_args()
    runs = Runs([run() for _ in range(options.runs)])
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{PAGE} has no place for the tables: put {BEGIN} and {END} in it")
    PAGE.write_text(f"{before}{BEGIN}\n\n{measured(runs, options.date)}\n{END}{after}", "utf-8")


def run(*options: str, benches: Sequence[str] = ("bench",)) -> dict[str, Any]:
    """Run benches once with these options of pytest; return pytest-benchmark's results."""
    with tempfile.TemporaryDirectory(prefix="refold-report-") as folder:
        result = Path(folder) / "benchmarks.json"
        command = [
            sys.executable,
            "-m",
            "pytest",
            *benches,
            "-q",
            *options,
            # pytest-benchmark times nothing in several processes.
            "-n0",
            "--benchmark-quiet",
            f"--benchmark-json={result}",
        ]
        subprocess.run(command, cwd=ROOT, check=True)
        return json.loads(result.read_bytes())


def measured(runs: Runs, date: str) -> str:
    """Return the tables of some runs."""
    blocks = [machine(runs, date), table(rebuild_rows(runs)), table(goal_rows(runs))]
    return "\n\n".join(blocks) + "\n"


def machine(runs: Runs, date: str) -> str:
    """Describe the machine without its network name."""
    cpu = runs.machine["cpu"].get("brand_raw") or platform.processor() or platform.machine()
    engine = ".".join(map(str, lmdb.version()))
    return (
        f"{date}, {cpu}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; "
        f"{platform.python_implementation()} {platform.python_version()}, LMDB {engine} (py-lmdb {lmdb.__version__}). "
        f"Median of {runs.number} runs."
    )


def rebuild_rows(runs: Runs) -> Iterator[tuple[str, ...]]:
    floor = f"÷ floor, expected {TO_THE_FLOOR}"
    yield "events", "messages", "store", "refold", floor, "", "JSON fold ÷ refold"
    for group, length, messages, state in rebuilds(runs):
        ratio = runs.ratio(group, "refold", "floor")
        yield (
            length,
            messages,
            state,
            span(runs.took(group)),
            times(ratio),
            TO_THE_FLOOR.verdict(ratio),
            times(runs.ratio(group, "json fold", "refold")),
        )


def rebuilds(runs: Runs) -> list[tuple[str, str, str, str]]:
    """Return group, history, messages and store state of each rebuild, in the page's order."""
    groups = [group.split("-") for group in runs.groups if group.startswith("rebuild-")]
    groups = [name for name in groups if name[1] in HISTORIES]
    groups.sort(key=lambda name: (int(name[2]), name[3] == "closed", int(name[1].removesuffix("k"))))
    return [("-".join(name), *name[1:]) for name in groups]


def goal_rows(runs: Runs) -> Iterator[tuple[str, ...]]:
    yield "what", "refold", "beside it", "takes", "ratio", "expected", ""
    for comparison in COMPARISONS:
        group, role = comparison.group, comparison.role
        if not runs.has(group, "refold", role):
            continue
        pair = (role, "refold") if comparison.is_faster else ("refold", role)
        ratio = runs.ratio(group, *pair)
        yield (
            comparison.what,
            span(runs.took(group)),
            comparison.beside,
            span(runs.took(group, role)),
            times(ratio) + (" faster" if comparison.is_faster else ""),
            str(comparison.limit),
            comparison.limit.verdict(ratio),
        )


def table(rows: Iterator[tuple[str, ...]]) -> str:
    head, *body = rows
    lines = [head, ("---",) * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def times(ratio: float) -> str:
    return f"{ratio:.2f} {TIMES}" if ratio < 10 else f"{ratio:,.0f} {TIMES}"


def span(seconds: float) -> str:
    """Format a time with about three digits in a suitable unit."""
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if seconds < size * 1000:
            number = seconds / size
            return f"{number:.1f} {unit}" if number < 100 else f"{number:.0f} {unit}"
    return f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
