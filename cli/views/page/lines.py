"""The events of a session on the page: their lines, their tree, and their full view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from cli.output import when
from cli.views.page.material import EventOutcome, Material
from cli.views.page.parts import EventGroup, EventView, TreeLine
from cli.views.session_tree import EntryRow, tree_rows
from cli.views.texts import LONGEST_TEXT, SIGNS, dollars, line_of
from eventstore.errors import shell_command
from eventstore.event import Event
from eventstore.views import Message
from projections.context.parts import is_continuation
from projections.descriptions import event_name, summary_line
from projections.message_text import message_text

_LONGEST_NAME: Final = 40
_LONGEST_OF_TREE: Final = 120


class EventLine(msgspec.Struct, frozen=True, kw_only=True):
    """An event in one line; `name` is a message's role, or the kind."""

    sign: str
    name: str
    text: str


EventLines = Mapping[int, EventLine]
"""Lines by event number."""


def lines_of(events: Iterable[Event]) -> dict[int, EventLine]:
    """Return the lines of events by event number."""
    return {
        event.seq: EventLine(
            sign="" if is_continuation(event) else SIGNS.get(event.kind, ""),
            name=line_of(event_name(event), _LONGEST_NAME),
            # The symbol already says that it is a summary.
            text=line_of(summary_line(event).removeprefix("∑ ")),
        )
        for event in events
    }


def tree_lines(material: Material, lines: EventLines, target: Callable[[int], str]) -> Iterator[TreeLine]:
    """Yield the lines of the tree; `target` returns the link for an event."""
    events = {event.id: event for event in material.events}
    path = material.path
    for each in tree_rows(material.tree, events.__getitem__, lambda node_id: events[node_id].seq in path):
        if isinstance(each, EntryRow):
            line, seq = lines[each.event.seq], each.event.seq
            yield TreeLine(
                level=each.level,
                seq=seq,
                sign=line.sign or ("●" if line.name == "user" else "·"),
                name=line.name,
                text=line_of(line.text, _LONGEST_OF_TREE),
                label=each.node.label or "",
                is_leaf=each.node.id == material.view.audit.leaf,
                is_aside=seq not in path,
                target=target(seq),
                hidden=0,
            )
        else:
            yield TreeLine(
                level=each.level,
                seq=each.first,
                sign="",
                name="",
                text=f"#{each.first}" if each.first == each.last else f"#{each.first} to #{each.last}",
                label="",
                is_leaf=False,
                is_aside=each.first not in path,
                target=f"e-{each.first}",
                hidden=each.names.total(),
            )


GROUP: Final = 100
"""Events that a browser lays out together."""


def event_groups(
    material: Material,
    lines: EventLines,
    outcomes: Mapping[int, EventOutcome],
    target: Callable[[int], str],
    *,
    whole: AbstractSet[int | None] | None,
) -> list[EventGroup]:
    """Return the events in log order, in groups.

    Texts are cut, except those of events in `whole`; None: none are cut.
    """
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
    line: EventLine,
    tokens: int | None,
    outcome: EventOutcome,
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
        fate=outcome.status,
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


def cut(text: str, longest: int) -> tuple[str, int]:
    """Return the beginning of a text, and the number of characters left out."""
    return text[:longest], max(len(text) - longest, 0)
