"""Run the same work in refold and in each peer that is installed; write the table of docs/benchmarks.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.peers.stores import PEERS, Times, installed, measure
from bench.report import PAGE, TIMES, span, table, times

BEGIN: Final = "<!-- peers: begin -->"
END: Final = "<!-- peers: end -->"
COPIES: Final = (1, 10, 100)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("date", help="the day of the run, as the page shall say it")
    parser.add_argument("session", type=Path, help="a session file of pi, version 3, with a compaction")
    options = parser.parse_args()
    measured = {copies: measure(options.session, copies) for copies in COPIES}
    versions = "; ".join(f"{peer.package} {peer.version()}" for peer in installed())
    missing = [peer.name for peer in PEERS if peer.version() is None]
    text = "\n\n".join(
        [
            f"{options.date}, `{options.session.stem}`. Installed: {versions}."
            + (f" Not measured: {', '.join(missing)}." if missing else ""),
            "Durable append of a message:",
            table(rows(measured, 0)),
            "Open and rebuild:",
            table(rows(measured, 1)),
        ]
    )
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{PAGE} has no place for the tables: put {BEGIN} and {END} in it")
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")


def rows(measured: dict[int, Times], which: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each peer: its time with each history, and its ratio to refold's."""
    yield (
        "",
        *(f"{TIMES}{copies}" for copies in measured),
        *(f"÷ refold, {TIMES}{copies}" for copies in measured),
    )
    for peer in installed():
        own = [took[peer.name][which] for took in measured.values()]
        refold = [took["refold"][which] for took in measured.values()]
        # The least is the one that other work on the machine disturbed least.
        ratios = [min(theirs) / min(ours) for theirs, ours in zip(own, refold, strict=True)]
        yield (
            peer.name,
            *(span(min(each)) for each in own),
            *("" if peer.name == "refold" else times(ratio) for ratio in ratios),
        )


if __name__ == "__main__":
    main()
