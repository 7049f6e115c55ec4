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
COPIES: Final = 100


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("date", help="the day of the run, as the page shall say it")
    parser.add_argument("session", type=Path, help="a session file of pi, version 3, with a compaction")
    options = parser.parse_args()
    measured = measure(options.session, COPIES)
    missing = [peer.name for peer in PEERS if peer.version() is None]
    text = "\n\n".join(
        [
            f"{options.date}, `{options.session.stem}`, {TIMES}{COPIES}."
            + (f" Not measured: {', '.join(missing)}." if missing else ""),
            table(rows(measured)),
        ]
    )
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{PAGE} has no place for the tables: put {BEGIN} and {END} in it")
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")


def rows(measured: Times) -> Iterator[tuple[str, ...]]:
    """Yield a row for each peer: its times, and their ratios to refold's."""
    yield "store", "append", "÷ refold", "open and rebuild", "÷ refold"
    # The least is the one that other work on the machine disturbed least.
    refold = [min(each) for each in measured["refold"]]
    for peer in installed():
        own = [min(each) for each in measured[peer.name]]
        ratios = [
            "" if peer.name == "refold" else times(one / base) for one, base in zip(own, refold, strict=True)
        ]
        name, comma, engine = peer.name.partition(",")
        yield (
            f"{name} {peer.version()}{comma}{engine}",
            *(cell for took, ratio in zip(own, ratios, strict=True) for cell in (span(took), ratio)),
        )


if __name__ == "__main__":
    main()
