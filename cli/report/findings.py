"""What is notable of a replacement, in a few words each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cli.audit_view.remarks import remarks
from cli.output import counted
from cli.replaced import Replaced
from cli.report.model import Finding
from cli.report.texts import line_of

_LONGEST: Final = 90


def findings(replaced: Replaced, *, is_undone: bool) -> list[Finding]:
    """What a reader should know before anything else: what was lost by it, or that nothing was."""
    texts = (*_losses(replaced), *remarks(replaced))
    bad = [Finding(text=line_of(text, _LONGEST), is_bad=True) for text in texts]
    undone = [Finding(text="undone", is_bad=False)] if is_undone else []
    return [*undone, *(bad or [Finding(text="nothing lost that was needed", is_bad=False)])]


def _losses(replaced: Replaced) -> Iterator[str]:
    metrics = replaced.metrics
    if metrics.future_use.losses:
        use = metrics.future_use
        yield f"{len(use.losses):,} needed later and lost, {use.never_regained:,} never given back"
    if metrics.instructions.gone:
        yield f"{counted(metrics.instructions.gone, 'instruction')} gone"
    if metrics.regret.repeated:
        yield f"{counted(metrics.regret.repeated, 'call')} repeated"
    if metrics.regret.errors:
        yield f"{counted(len(metrics.regret.errors), 'error')} met again"
