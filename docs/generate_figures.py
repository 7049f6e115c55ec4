"""Write figures.md, the findings in real sessions: `python docs/generate_figures.py CORPUS`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from eventstore import import_file, open_store
from projections.audit.session import Audit, CompactionAudit, audit

PAGE = Path(__file__).parent / "figures.md"
SESSIONS = (
    "pi-mono-before-compaction.v1.jsonl",
    "pi-mono-before-compaction.v3.jsonl",
    "pi-mono-large-session.v1.jsonl",
)
_SAME = SESSIONS[0]
_HEAD = """# What the audit finds in real sessions

Written by `python docs/generate_figures.py CORPUS` from the corpus of real pi sessions; tokens are pi's own estimate
(`utf16/4`). [Metrics](metrics.md) defines every figure. The first two files are one session, as pi wrote it and as pi
migrated it: their figures are the same.
"""


def page(corpus: Path) -> str:
    """Return the page, from a folder of real sessions."""
    with TemporaryDirectory() as folder, open_store(folder) as log:
        audits = []
        for number, name in enumerate(SESSIONS):
            session = import_file(log, corpus / "pi" / name, name=f"corpus-{number}").id
            audits.append((name, audit(log, session)))
    lines = [_HEAD, *_sessions(audits)]
    for name, found in audits:
        for number, compaction in enumerate(found.compactions if name != _SAME else (), 1):
            lines += ["", f"## {name}, compaction {number}", "", *_compaction(compaction)]
    return "\n".join(lines) + "\n"


def _sessions(audits: list[tuple[str, Audit]]) -> Iterator[str]:
    yield (
        "| session | entries | compactions | calls paid | cost recorded | cost by table "
        "| cache reads predicted / recorded |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, found in audits:
        spent, cache = found.cost.spent, found.cache
        yield (
            f"| {name} | {found.entries} | {len(found.compactions)} | {spent.calls} | {_dollars(spent.recorded)} "
            f"| {_dollars(spent.priced)} | {cache.predicted:,} / {cache.recorded:,} "
            f"({_percent(cache.share)} within 10 %) |"
        )


def _compaction(found: CompactionAudit) -> Iterator[str]:
    metrics = found.metrics
    size, use, rules, rework = metrics.size, metrics.future_use, metrics.instructions, metrics.rework
    yield "| figure | |"
    yield "| --- | --- |"
    yield f"| tokens before (C), after (C′) | {size.before:,} → {size.after:,} |"
    yield f"| removed (H), kept (K), summary (S) | {size.removed:,}, {size.kept:,}, {size.added:,} |"
    yield f"| removed share, S / H | {_percent(size.removed_share)}, {_percent(size.ratio)} |"
    for kind in metrics.recall.kinds:
        yield f"| recall, {kind.kind} | {_share(kind.found, kind.total, kind.share)} |"
    yield f"| future-use recall | {_share(use.found, use.total, use.share)} |"
    for need in use.kinds:
        yield f"| future-use recall, {need.kind} | {_share(need.found, need.total, need.share)} |"
    yield f"| gone before, named again, found by a search | {use.earlier}, {use.given}, {use.searched} |"
    yield f"| only read again, with common names, lost | {use.reread}, {use.common}, {len(use.losses)} |"
    yield f"| rules kept, gone, in the tail | {rules.kept}, {rules.gone}, {rules.tail} of {len(rules.rules)} |"
    yield f"| calls later, of them repeats | {rework.calls}, {rework.repeated} |"
    rereads = rework.rereads
    yield f"| re-reads within the next 3, 10, all calls | {rereads.next3}, {rereads.next10}, {rereads.all} |"
    yield f"| errors met again | {len(rework.errors)} |"
    cache, cost = metrics.cache, metrics.cost
    yield f"| tokens cached anew | {cache.rewritten_tokens:,} |"
    yield (
        "| next call's cache reads predicted, recorded, and writes "
        f"| {cache.predicted_read or 0:,}, {cache.recorded_read or 0:,}, {cache.recorded_write or 0:,} |"
    )
    if cost.too_long:
        yield (
            "| later calls, of them too long for the window with the longer context "
            f"| {cost.calls}, {cost.too_long} |"
        )
        yield f"| summary and rewriting | {_dollars(cost.summary)}, {_dollars(cost.rewrite)} |"
        return
    yield (
        f"| saved in {cost.calls} calls, less summary and rewriting "
        f"| {_dollars(cost.saved)} - {_dollars(cost.summary)} "
        f"- {_dollars(cost.rewrite)} = {_dollars(cost.net)} |"
    )


def _share(found: int, total: int, share: float | None) -> str:
    return f"{found} / {total} ({_percent(share)})"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}".replace("%", " %")


def _dollars(amount: float | None) -> str:
    return "-" if amount is None else f"${amount:,.2f}"


def main() -> None:
    """Write the page."""
    corpus = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("REFOLD_CORPUS")
    if not corpus:
        sys.exit("name the folder of real sessions, or set REFOLD_CORPUS")
    PAGE.write_text(page(Path(corpus)), "utf-8")


if __name__ == "__main__":
    main()
