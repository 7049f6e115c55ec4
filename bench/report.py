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
FLAT: Final = Limit(1.25)
"""The maximum ratio of the longest history's rebuild to the shortest's that counts as equal."""


class Comparison(NamedTuple):
    """A comparison of refold with another role of a group, as slower or faster."""

    group: str
    what: str
    role: str
    beside: str
    limit: Limit | None = None
    is_faster: bool = False


COMPARISONS: Final = (
    Comparison("append", "durable append of one event", "same rows", "LMDB: the same rows", Limit(1.3)),
    Comparison("append", "", "one row", "LMDB: the same bytes in one row"),
    Comparison("append", "", "line", "JSONL: a line and fdatasync"),
    Comparison("append-python", "the same without its commit", "puts", "LMDB: putting the same rows"),
    Comparison(
        "real-session",
        "open + rebuild of `pi-mono-before-compaction`",
        "json fold",
        "JSON fold of the file",
        Limit(10, is_least=True),
        is_faster=True,
    ),
    Comparison("real-session", "", "typed fold", "typed fold of the file", is_faster=True),
    Comparison("real-session", "", "floor", "the floor, opened"),
    Comparison("startup", "`refold --help`", "python -c pass", "`python -c pass`", Limit(5)),
    Comparison(
        "startup-context",
        "`refold context --format native`, 60 messages",
        "python -c pass",
        "`python -c pass`",
        Limit(8),
    ),
    Comparison("startup-text", "`refold context`, the same", "python -c pass", "`python -c pass`", Limit(8)),
    Comparison(
        "startup-text-long",
        "`refold context`, 60 messages after 10,000 events",
        "python -c pass",
        "`python -c pass`",
    ),
    Comparison("import", "import of 10,000 events", "json", "`json.loads` of every line", Limit(2)),
    Comparison("import", "", "parse", "parsing every line by msgspec"),
    Comparison(
        "oh-my-pi",
        "open + rebuild of 1,000 messages of oh-my-pi after 10,000 events",
        "json fold",
        "JSON fold of the file",
        is_faster=True,
    ),
    Comparison(
        "oh-my-pi-import",
        "import of 10,000 events of oh-my-pi",
        "json",
        "`json.loads` of every line",
        Limit(2),
    ),
    Comparison("oh-my-pi-import", "", "parse", "parsing every line by msgspec"),
    Comparison(
        "claude-code",
        "open + rebuild of `6113e919-3auto`, of Claude Code",
        "json fold",
        "JSON fold of the file",
        is_faster=True,
    ),
    Comparison(
        "claude-code-import", "import of it, 893 records", "json", "`json.loads` of every line", Limit(2)
    ),
    Comparison("claude-code-import", "", "parse", "parsing every line by msgspec"),
    Comparison("sync", "sync of 80 new files, 80 MB", "one process", "by one process"),
    Comparison("resync", "sync of 2,000 files without changes", "stat", "a stat of each file"),
    Comparison("batch-10", "append of 10 events at once", "floor", "LMDB: the events' rows alone"),
    Comparison("batch-100", "append of 100", "floor", "LMDB: the events' rows alone"),
    Comparison("batch-1000", "append of 1,000", "floor", "LMDB: the events' rows alone", Limit(5)),
    Comparison(
        "eight-writers",
        "eight threads, 40 appends each, sharing flushes",
        "each",
        "a flush for each append",
        Limit(0.5),
    ),
    Comparison("checked-60-10k", "checked context of 60 messages", "unchecked", "the same, unchecked"),
    Comparison("checked-1000-10k", "checked context of 1,000 messages", "unchecked", "the same, unchecked"),
    Comparison("full-fold", "10,000 events folded to a tree", "floor", "walking over their bodies"),
    Comparison("timeline", "timeline of 10,000 events", "floor", "walking over their bodies"),
    Comparison("deep-tree", "context of 2,500 entries, a jump an entry", "run", "the same in one run"),
    Comparison("compactions", "context after 1,000 compactions", "one", "after one"),
    Comparison("sessions", "heads of 2,000 sessions", "floor", "reading their rows"),
    Comparison("overviews", "cached figures of 2,000 sessions", "heads", "reading their heads", Limit(4)),
    Comparison("search-index", "search index of 10,000 events", "floor", "reading their texts"),
    Comparison(
        "search",
        "search of 10,000 events, 20 results",
        "scan",
        "scanning the log",
        Limit(10, is_least=True),
        is_faster=True,
    ),
    Comparison("audit", "audit of 2,000 events with every metric", "import", "importing them"),
    Comparison("audit-again", "the same again, unchanged", "import", "importing them", Limit(1)),
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
    Comparison("extractive-1k", "extractive summary of all of 1,000 events", "import", "importing them"),
    Comparison("extractive-1k", "", "prompt", "making its prompt"),
    Comparison("extractive-1k", "", "floor", "extracting what they name, text by text"),
    Comparison("extractive-10k", "the same of all of 10,000", "import", "importing them"),
    Comparison("extractive-10k", "", "prompt", "making its prompt"),
    Comparison("extractive-10k", "", "floor", "extracting what they name, text by text"),
)


class Runs:
    """The medians of several runs of all benches, by group and role."""

    def __init__(self, reports: list[dict[str, Any]]) -> None:
        self.machine: dict[str, Any] = reports[0]["machine_info"]
        self.number = len(reports)
        self.facts: dict[str, dict[str, Any]] = {}
        self._medians: dict[str, dict[str, list[float]]] = {}
        for bench in (bench for report in reports for bench in report["benchmarks"]):
            role, took = bench["extra_info"]["role"], bench["stats"]["median"]
            self._medians.setdefault(bench["group"], {}).setdefault(role, []).append(took)
            self.facts.setdefault(bench["group"], {}).update(bench["extra_info"])

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
    blocks = [
        machine(runs, date),
        "### Rebuild\n\n" + table(rebuild_rows(runs)),
        "### Flat over history\n\n" + table(flat_rows(runs)),
        "### The rest\n\n" + table(other_rows(runs)),
    ]
    if runs.has("import", "refold"):
        megabytes = runs.facts["import"]["bytes_read"] / 1e6
        speed = megabytes / runs.took("import")
        blocks += [
            f"Private memory of {what}: {' and '.join(_sizes(runs, what))}."
            for what in ("import", "verify")
            if runs.has(f"memory-{what}", "refold")
        ]
        blocks.append(f"The import reads {megabytes:.1f} MB of JSONL, {speed:.0f} MB a second.")
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
    yield (
        "events",
        "messages",
        "store",
        "refold",
        "floor",
        "refold ÷ floor",
        f"expected {TO_THE_FLOOR}",
        "refold ÷ values joined whole",
        "typed fold ÷ refold",
        "JSON fold ÷ refold",
    )
    for group, length, messages, state in rebuilds(runs):
        ratio = runs.ratio(group, "refold", "floor")
        yield (
            length,
            messages,
            state,
            span(runs.took(group)),
            span(runs.took(group, "floor")),
            times(ratio),
            TO_THE_FLOOR.verdict(ratio),
            times(runs.ratio(group, "refold", "values")),
            times(runs.ratio(group, "typed fold", "refold")),
            times(runs.ratio(group, "json fold", "refold")),
        )


def flat_rows(runs: Runs) -> Iterator[tuple[str, ...]]:
    yield "messages", "store", "1k events", "10k", "100k", "100k ÷ 1k", f"expected {FLAT}"
    by_context: dict[tuple[str, str], list[str]] = {}
    for group, _, messages, state in rebuilds(runs):
        by_context.setdefault((messages, state), []).append(group)
    for (messages, state), groups in by_context.items():
        ratio = runs.ratio(groups[-1], "refold", "refold", groups[0])
        yield (
            messages,
            state,
            *(span(runs.took(group)) for group in groups),
            times(ratio),
            FLAT.verdict(ratio),
        )


def rebuilds(runs: Runs) -> list[tuple[str, str, str, str]]:
    """Return group, history, messages and store state of each rebuild, in the page's order."""
    groups = [group.split("-") for group in runs.groups if group.startswith("rebuild-")]
    groups.sort(key=lambda name: (int(name[2]), name[3] == "closed", int(name[1].removesuffix("k"))))
    return [("-".join(name), *name[1:]) for name in groups]


def other_rows(runs: Runs) -> Iterator[tuple[str, ...]]:
    yield "what", "refold", "beside it", "takes", "ratio", "expected", ""
    for comparison in COMPARISONS:
        group, role = comparison.group, comparison.role
        if not runs.has(group, "refold", role):
            continue
        pair = (role, "refold") if comparison.is_faster else ("refold", role)
        ratio = runs.ratio(group, *pair)
        yield (
            comparison.what,
            span(runs.took(group)) if comparison.what else "",
            comparison.beside,
            span(runs.took(group, role)),
            times(ratio) + (" faster" if comparison.is_faster else ""),
            str(comparison.limit or ""),
            comparison.limit.verdict(ratio) if comparison.limit else "",
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


def _sizes(runs: Runs, what: str) -> Iterator[str]:
    for events, kilobytes in runs.facts[f"memory-{what}"]["peak"].items():
        yield f"{kilobytes // 1024} MB for {int(events):,} events"


if __name__ == "__main__":
    main()
