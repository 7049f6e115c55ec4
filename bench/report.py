"""`python -m bench.report DATE` runs the benches and writes the tables of docs/benchmarks.md.

What is written are ratios of medians of one run. Each expectation stands beside what was measured, met or not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import lmdb

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "benchmarks.md"
BEGIN: Final = "<!-- measured: begin -->"
END: Final = "<!-- measured: end -->"

TIMES: Final = "\N{MULTIPLICATION SIGN}"
TO_THE_FLOOR: Final = 2.0
FLAT: Final = 1.25
"""The longest history's rebuild against the shortest's: what still counts as the same."""


class Limit(NamedTuple):
    """A ratio that is expected: at most so much, or at least."""

    bound: float
    is_least: bool = False

    def verdict(self, ratio: float) -> str:
        is_met = ratio >= self.bound if self.is_least else ratio <= self.bound
        return "met" if is_met else "**not met**"

    def __str__(self) -> str:
        return f"{'≥' if self.is_least else '≤'} {self.bound:g} {TIMES}"


class Comparison(NamedTuple):
    """Refold in a group beside another role of it: how much slower it is, or how much faster."""

    group: str
    what: str
    role: str
    beside: str
    limit: Limit | None = None
    is_faster: bool = False


COMPARISONS: Final = (
    Comparison("append", "durable append of one event", "same rows", "LMDB: the same rows", Limit(1.3)),
    Comparison("append", "", "one row", "LMDB: the event's row alone"),
    Comparison("append", "", "line", "JSONL: a line and fdatasync"),
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
    Comparison("startup", "`refold --help`", "python -c pass", "`python -c pass`", Limit(6)),
    Comparison("import", "import of 10,000 events", "parse", "parsing every line"),
)

Medians = dict[str, dict[str, float]]
"""From groups and roles to median seconds."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.report", description="Run the benches, write the page."
    )
    parser.add_argument("date", help="the day of the run, as the page shall say it")
    parser.add_argument("--json", type=Path, help="take this pytest-benchmark file instead of running")
    options = parser.parse_args()
    data = json.loads(options.json.read_bytes()) if options.json else run()
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{PAGE} has no place for the tables: put {BEGIN} and {END} in it")
    PAGE.write_text(f"{before}{BEGIN}\n\n{measured(data, options.date)}\n{END}{after}", "utf-8")


def run() -> dict[str, Any]:
    """Run the benches; what pytest-benchmark says of them."""
    with tempfile.TemporaryDirectory(prefix="refold-report-") as folder:
        result = Path(folder) / "benchmarks.json"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "bench",
            "-q",
            "--benchmark-quiet",
            f"--benchmark-json={result}",
        ]
        subprocess.run(command, cwd=ROOT, check=True)
        return json.loads(result.read_bytes())


def measured(data: dict[str, Any], date: str) -> str:
    """The tables of a run."""
    medians: Medians = {}
    facts: dict[str, dict[str, Any]] = {}
    for bench in data["benchmarks"]:
        role = bench["extra_info"]["role"]
        medians.setdefault(bench["group"], {})[role] = bench["stats"]["median"]
        facts.setdefault(bench["group"], {}).update(bench["extra_info"])
    blocks = [
        machine(data, date),
        "### Rebuild\n\n" + table(rebuild_rows(medians)),
        "### Flat over history\n\n" + table(flat_rows(medians)),
        "### The rest\n\n" + table(other_rows(medians)),
    ]
    if "import" in medians:
        megabytes = facts["import"]["bytes_read"] / 1e6
        took = medians["import"]["refold"]
        blocks.append(f"The import reads {megabytes:.1f} MB of JSONL at {megabytes / took:.0f} MB/s.")
    return "\n\n".join(blocks) + "\n"


def machine(data: dict[str, Any], date: str) -> str:
    """What it was measured on, without its name in any network."""
    cpu = data["machine_info"]["cpu"].get("brand_raw") or platform.processor() or platform.machine()
    engine = ".".join(map(str, lmdb.version()))
    return (
        f"{date}, {cpu}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; "
        f"{platform.python_implementation()} {platform.python_version()}, LMDB {engine} (py-lmdb {lmdb.__version__})."
    )


def rebuild_rows(medians: Medians) -> Iterator[tuple[str, ...]]:
    yield (
        "events",
        "messages",
        "store",
        "refold",
        "floor",
        "refold ÷ floor",
        f"expected {Limit(TO_THE_FLOOR)}",
        "typed fold ÷ refold",
        "JSON fold ÷ refold",
    )
    for _, messages, state, length, roles in rebuilds(medians):
        took = roles["refold"]
        ratio = took / roles["floor"]
        yield (
            length,
            messages,
            state,
            span(took),
            span(roles["floor"]),
            times(ratio),
            Limit(TO_THE_FLOOR).verdict(ratio),
            times(roles["typed fold"] / took),
            times(roles["json fold"] / took),
        )


def flat_rows(medians: Medians) -> Iterator[tuple[str, ...]]:
    yield "messages", "store", "1k events", "10k", "100k", "100k ÷ 1k", f"expected {Limit(FLAT)}"
    by_context: dict[tuple[str, str], list[float]] = {}
    for _, messages, state, _, roles in rebuilds(medians):
        by_context.setdefault((messages, state), []).append(roles["refold"])
    for (messages, state), took in by_context.items():
        ratio = took[-1] / took[0]
        yield messages, state, *map(span, took), times(ratio), Limit(FLAT).verdict(ratio)


def rebuilds(medians: Medians) -> list[tuple[int, str, str, str, dict[str, float]]]:
    """Order, messages, state of the store, length and roles of each rebuild, in the page's order."""
    found = []
    for group, roles in medians.items():
        if group.startswith("rebuild-"):
            _, length, messages, state = group.split("-")
            order = int(messages) * 10 + (state == "closed")
            found.append((order * 1000 + int(length.removesuffix("k")), messages, state, length, roles))
    return sorted(found, key=lambda rebuild: rebuild[0])


def other_rows(medians: Medians) -> Iterator[tuple[str, ...]]:
    yield "what", "refold", "beside it", "takes", "ratio", "expected", ""
    for comparison in COMPARISONS:
        roles = medians.get(comparison.group, {})
        if "refold" not in roles or comparison.role not in roles:
            continue
        took, other = roles["refold"], roles[comparison.role]
        ratio = other / took if comparison.is_faster else took / other
        yield (
            comparison.what,
            span(took) if comparison.what else "",
            comparison.beside,
            span(other),
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
    """A time with three digits or so, in a unit that suits it."""
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if seconds < size * 1000:
            number = seconds / size
            return f"{number:.1f} {unit}" if number < 100 else f"{number:.0f} {unit}"
    return f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
