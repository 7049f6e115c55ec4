"""All events of a session as the page lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from cli.audit_view.lines import dollars
from cli.output import when
from cli.report.fates import Outcome
from cli.report.lines import Line, Lines
from cli.report.material import Material
from cli.report.model import EventGroup, EventView
from cli.report.texts import LONGEST_TEXT, cut
from eventstore.errors import shell_command
from eventstore.event import Event
from eventstore.views import Message
from projections.renderers.text import message_text

GROUP: Final = 100
"""Events that a browser lays out together."""


def event_groups(
    material: Material,
    lines: Lines,
    outcomes: Mapping[int, Outcome],
    target: Callable[[int], str],
    *,
    whole: AbstractSet[int | None] | None,
) -> list[EventGroup]:
    """The events in order of the log, in groups; texts are cut, but for those in `whole`; None: none is."""
    labels = {node.id: node.label for node in material.tree.nodes if node.label}
    views = [
        _event_view(
            event,
            material.views.get(event.seq),
            tokens=material.tokens.get(event.seq),
            outcome=outcomes[event.seq],
            line=lines[event.seq],
            taken_sign=lines[by].sign if (by := outcomes[event.seq].by) else "",
            label=labels.get(event.id, ""),
            target=target(event.seq),
            longest=None if whole is None or event.seq in whole else LONGEST_TEXT,
        )
        for event in material.events
    ]
    return [
        EventGroup(
            first=group[0].seq,
            last=group[-1].seq,
            day=_days(group),
            events=group,
        )
        for group in (views[at : at + GROUP] for at in range(0, len(views), GROUP))
    ]


def _days(group: list[EventView]) -> str:
    days = [view.time[:10] for view in group if view.time != "-"]
    if not days:
        return ""
    return days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"


def _event_view(
    event: Event,
    view: Message | None,
    *,
    line: Line,
    tokens: int | None,
    outcome: Outcome,
    taken_sign: str,
    label: str,
    target: str,
    longest: int | None,
) -> EventView:
    text = message_text(view) if view else event.body.decode("utf-8", "replace")
    shown, left_out = (text, 0) if longest is None else cut(text, longest)
    time = when(event.time)
    return EventView(
        seq=event.seq,
        name=line.name,
        line=line.text,
        tokens=tokens,
        time=time,
        clock=time[11:] or "-",
        fate=outcome.standing,
        taken_by=outcome.by,
        taken_sign=taken_sign,
        label=label,
        parent_seq=event.parent_seq,
        facts=list(_facts(event, view)),
        text=shown,
        left_out=left_out,
        show=shell_command("show", event.session, f"#{event.seq}"),
        target=target if target != f"e-{event.seq}" else "",
    )


def _facts(event: Event, view: Message | None) -> Iterator[str]:
    yield event.id
    if view is None:
        return
    if view.model:
        yield "/".join(filter(None, (view.provider, view.model)))
    if view.stop_reason:
        yield f"stopped by {view.stop_reason}"
    if usage := view.usage:
        yield f"{usage.prompt:,} tokens sent"
        yield f"{usage.cache_read:,} from the cache"
        yield f"{usage.cache_write:,} to it"
        yield f"{usage.output:,} answered"
        if usage.cost is not None:
            yield dollars(usage.cost)
