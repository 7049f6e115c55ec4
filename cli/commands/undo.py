"""refold undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from cli.options import json_option

if TYPE_CHECKING:
    from compaction.branching.undo import Undo
    from projections.context.parts import Context


_COUNTER: Final = "utf16/4"
"""The token counter for context sizes."""


@click.command("undo", epilog="Example:  refold undo @last")
@click.argument("session")
@click.argument("event", required=False)
@json_option
@click.pass_context
def command(ctx: click.Context, session: str, event: str | None, *, as_json: bool) -> None:
    """Undo refold's newest compaction, rewrite or move, and everything appended with it.

    With EVENT (an id, a unique prefix of one, a label, or #N), undo the append that the event belongs to,
    even an imported one. An undo is itself an event: undo it to restore what it removed. A move can be undone
    until something follows it; of several compactions, only the newest in effect can be undone.
    """
    from cli.output import echo_json
    from cli.store import opened_session, resolve_event
    from compaction.branching.undo import undo
    from eventstore.writing import SessionWriter
    from projections.context.build import build_context

    with opened_session(ctx, session, writes=True) as (log, name):
        with log.snapshot() as snapshot:
            target = resolve_event(snapshot, name, event) if event is not None else None
        undid = undo(SessionWriter(log, name), target)
        plan, events = undid.undo, undid.events
        with log.snapshot() as snapshot:
            seq = snapshot.locate(name, events[0])
            before, after = (
                build_context(snapshot, name, as_of=number, verify=False) for number in (seq - 1, seq)
            )
    if as_json:
        echo_json(
            {
                "session": name,
                "events": list(events),
                "counter": _COUNTER,
                "estimate": True,
                "undone": [{"id": entry.id, "seq": entry.seq, "kind": entry.kind} for entry in plan.entries],
                "before": _size(before),
                "after": _size(after),
            }
        )
    else:
        _print(name, plan, events, before, after)


def _size(context: Context) -> dict[str, int]:
    return {"tokens": sum(part.utf16 for part in context.parts), "messages": len(context.parts)}


def _print(session: str, plan: Undo, events: tuple[str, ...], before: Context, after: Context) -> None:
    from cli.output import command_line, counted, echo_text, safe_line

    for entry in plan.entries:
        echo_text(f"undid {safe_line(entry.kind)} {safe_line(entry.id)} #{entry.seq}")
    sizes = [
        f"{counted(size['messages'], 'message')}, {counted(size['tokens'], 'token')}"
        for size in map(_size, (before, after))
    ]
    echo_text(f"context: {sizes[0]} -> {sizes[1]} by {_COUNTER}, an estimate")
    echo_text(f"to redo: {command_line('undo', session, events[0])}")
