"""The numbers at the head of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cli.audit_view.lines import dollars, percent
from cli.output import counted, thousands
from cli.report.calls import Call, spent
from cli.report.material import Material
from cli.report.model import Figure


def figures(material: Material) -> Iterator[Figure]:
    """The totals of a session: what it holds, what its context is now, what was sent and what that cost."""
    audit, nodes = material.audit, material.tree.nodes
    others = [
        counted(len(found), *names)
        for found, names in (
            (audit.branch_summaries, ("branch summary", "branch summaries")),
            (audit.rewrites, ("rewrite", "rewrites")),
        )
        if found
    ]
    yield _figure(
        "context now",
        thousands(audit.context_tokens),
        f"tokens, {counted(audit.context_messages, 'message')}",
    )
    branches = sum(not node.children for node in nodes)
    yield _figure("entries", thousands(audit.entries), f"on {counted(branches, 'branch', 'branches')}")
    yield _figure("compactions", thousands(len(audit.compactions)), ", ".join(others))
    yield from _of_calls(material.calls, audit.cost.prices)


def _of_calls(calls: Sequence[Call], prices: str) -> Iterator[Figure]:
    if not calls:
        return
    sent = sum(call.usage.prompt for call in calls)
    read = sum(call.usage.cache_read for call in calls)
    written = sum(call.usage.cache_write for call in calls)
    answered = sum(call.usage.output for call in calls)
    yield _figure("sent", _short(sent), f"tokens in {counted(len(calls), 'call')}")
    yield _figure(
        "from the cache", percent(read / sent if sent else None), f"{_short(written)} written to it"
    )
    yield _figure("output", _short(answered), "tokens")
    yield _figure("cost", dollars(spent(calls)), _how_known(calls, prices))


def _how_known(calls: Sequence[Call], prices: str) -> str:
    """Where the dollars come from, and how many calls have none."""
    sources = [
        "as recorded" if any(call.is_recorded for call in calls) else "",
        f"by {prices}" if any(call.dollars is not None and not call.is_recorded for call in calls) else "",
    ]
    unknown = sum(call.dollars is None for call in calls)
    return ", ".join(filter(None, [*sources, f"{counted(unknown, 'call')} unknown" if unknown else ""]))


def _figure(name: str, value: str, note: str) -> Figure:
    return Figure(name=name, value=value, note=note)


def _short(number: int) -> str:
    """A number of tokens in three digits."""
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= unit:
            return f"{number / unit:,.3g}{name}" if number < 1000 * unit else f"{number // unit:,}{name}"
    return thousands(number)


def models(material: Material) -> list[str]:
    """The models that wrote messages, the one that wrote most first."""
    names = Counter(
        "/".join(filter(None, (view.provider, view.model)))
        for view in material.views.values()
        if view.role == "assistant"
    )
    return [name for name, _ in names.most_common() if name]
