"""What is not as it should be with a replacement, in a few words each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cli.output import counted, unbroken
from cli.replaced import Replaced, grew
from projections.audit import CompactionAudit, Files, RewriteAudit
from projections.metrics import Metrics

_TOLERANCE: Final = 0.1
"""How far a claim may be from a count: no two counters agree."""


def remarks(replaced: Replaced) -> list[str]:
    """What a reader has to know, the worst first."""
    found: list[str] = []
    if isinstance(replaced, CompactionAudit) and replaced.messages.dropped:
        dropped = counted(replaced.messages.dropped, "message")
        found.append(f"{dropped} left the context with no summary covering them")
    if grew(replaced):
        found.append("the context did not get smaller")
    if not isinstance(replaced, RewriteAudit):
        found += ["its summary is empty"] if not replaced.summary.strip() else []
        found += _of_sections(replaced.metrics)
        found += _of_files(replaced.files)
    if isinstance(replaced, CompactionAudit):
        found += _of_claim(replaced)
    return found


def _of_sections(metrics: Metrics) -> Iterator[str]:
    sections = metrics.sections
    if sections and sections.fits and sections.missing:
        lacking = counted(len(sections.missing), "section")
        yield f"its summary lacks {lacking} of its template: {_listed(sections.missing)}"
    if sections and sections.duplicated:
        yield f"its summary has sections more than once: {_listed(sections.duplicated)}"


def _of_files(files: Files) -> Iterator[str]:
    if files.missing:
        yield f"{counted(len(files.missing), 'touched file')} that its list lacks"
    if files.unfounded:
        yield f"{counted(len(files.unfounded), 'file')} in its list that no call touched"


def _of_claim(compaction: CompactionAudit) -> Iterator[str]:
    before = compaction.before
    claimed, counts = before.claimed, [count for count in (before.measured, before.recomputed) if count]
    if claimed is not None and counts and not any(_is_near(claimed, count) for count in counts):
        measured = "" if before.measured is None else f" measured {before.measured:,},"
        yield f"it claims {counted(claimed, 'token')} before;{measured} recomputed {before.recomputed:,}"


def _is_near(claimed: int, count: int) -> bool:
    return abs(claimed - count) <= _TOLERANCE * count


def _listed(headings: list[str]) -> str:
    return ", ".join(map(unbroken, headings))
