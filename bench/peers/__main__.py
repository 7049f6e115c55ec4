"""Run the same work in refold and in each peer that is installed; write the table of docs/benchmarks.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

from bench.peers.history import History, names_of
from bench.peers.stores import PEERS, Peer
from bench.report import PAGE, TIMES, span, table, times
from bench.sessions import result_message

BEGIN: Final = "<!-- peers: begin -->"
END: Final = "<!-- peers: end -->"
COPIES: Final = (1, 10, 100)
ROUNDS: Final = 15
FEWEST: Final = 3
PATIENCE: Final = 10
"""Seconds of rebuilds after which a slow peer has only the fewest rounds."""
APPENDS: Final = 20
"""Appends of each peer before it is the next one's turn."""


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


def installed() -> list[type[Peer]]:
    return [peer for peer in PEERS if peer.version() is not None]


Times = dict[str, tuple[list[float], list[float]]]
"""From a peer's name to the median append of each round, and the rebuild of each, in seconds."""


def measure(session: Path, copies: int) -> Times:
    """Fill all peers with the same history, check their contexts, and time them in turns."""
    with tempfile.TemporaryDirectory(prefix="refold-peers-") as name, ExitStack() as stack:
        folder = Path(name)
        history = History(session, copies, folder)
        peers = [peer(folder / f"peer-{number}", history) for number, peer in enumerate(installed())]
        for peer in peers:
            peer.fill()
            stack.callback(peer.close)
            assert names_of(peer.rebuild().messages) == names_of(history.context), peer.name
        took: Times = {peer.name: ([], []) for peer in peers}
        for turn in range(ROUNDS):
            for peer in peers:
                rebuilds = took[peer.name][1]
                if turn < FEWEST or sum(rebuilds) < PATIENCE:
                    rebuilds.append(peer.rebuild().seconds)
        for turn in range(ROUNDS):
            messages = [result_message(turn * APPENDS + number) for number in range(APPENDS)]
            for peer in peers:
                took[peer.name][0].append(median(peer.append(messages)))
        return took


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
