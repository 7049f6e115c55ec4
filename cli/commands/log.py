"""refold log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from cli.options import utf8
from eventstore.kinds import CODE_OF_KIND

if TYPE_CHECKING:
    from eventstore.event import Event
    from eventstore.log import Snapshot

_WIDE: Final = 110
"""Columns from which a line shows whole times."""
_NARROW: Final = 80
"""Columns from which a line shows times at all."""
_KIND: Final = max(map(len, CODE_OF_KIND))
_SHORT: Final = 13
"""Characters of an id, and of a kind on a narrow terminal."""
_SHORTEST: Final = 8
"""Characters of an id on the narrowest terminal."""


@click.command("log", epilog="Example:  refold log @last --json | head -3")
@click.argument("session")
@click.option("--kind", metavar="KIND", multiple=True, help="Only events of this kind; repeatable.")
@click.option("--role", metavar="ROLE", multiple=True, help="Only messages of this role; repeatable.")
@click.option("--match", metavar="TEXT", callback=utf8, help="Only events whose record contains this text.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines, one event per line.")
@click.pass_context
def command(ctx: click.Context, /, session: str, *, as_json: bool, **chosen: Any) -> None:
    """List a session's events in the order in which they were stored.

    "*" marks the leaf, "-" marks events that are not nodes of the tree. Long ids are shortened; for one
    with "…" in it, use #N.
    """
    from cli.output import console, echo_json, paged, print_line
    from cli.store import opened_session
    from projections.context.cursor import resolve_cursor

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        _check_named(snapshot, name, kind=chosen["kind"], role=chosen["role"])
        events = _chosen(snapshot, name, **chosen)
        if as_json:
            for event in events:
                echo_json(event_json(event))
            return
        leaf = resolve_cursor(snapshot, name).leaf
        out = console()
        with paged(out):
            if out.width >= _WIDE:
                print_line(out, _line(_HEADING._replace(text=f"TEXT {_MARKS}"), out.width), style="bold")
            else:
                print_line(out, _MARKS, style="dim")
                print_line(out, _line(_HEADING, out.width), style="bold")
            for event in events:
                print_line(out, _line(_row(snapshot, event, leaf, out.width), out.width))


class _Row(NamedTuple):
    """The cells of a line; `mark` follows the number."""

    number: str
    name: str
    time: str
    what: str
    tokens: str
    text: str
    mark: str = " "


_HEADING: Final = _Row("#", "EVENT", "TIME (UTC)", "ROLE OR KIND", "EST. TOKENS", "TEXT")
_MARKS: Final = "(* the leaf, - not in the tree)"
"""Explains the marks behind numbers; a narrow terminal has no room for it in the heading."""


def _row(snapshot: Snapshot, event: Event, leaf: int, width: int) -> _Row:
    from cli.output import safe_line, thousands, when
    from projections.descriptions import event_name, summary_line

    return _Row(
        number=str(event.seq),
        name=safe_line(_short_id(snapshot, event)),
        # A narrow terminal has no room for year and seconds.
        time=when(event.time) if width >= _WIDE else when(event.time)[5:16],
        what=safe_line(event_name(event)),
        tokens=thousands(event.utf16 or None),
        text=summary_line(event),
        mark="*" if event.seq == leaf else " " if event.is_entry else "-",
    )


def _short_id(snapshot: Snapshot, event: Event) -> str:
    """Return an id or a unique prefix of it, or parts around "…" if others begin alike."""
    from cli.output import one_line

    prefix = event.id[:_SHORT]
    alike = islice(snapshot.ids(event.session, prefix), 2) if prefix != event.id else ()
    return one_line(event.id, _SHORT) if len(list(alike)) > 1 else prefix


def _line(row: _Row, width: int) -> str:
    from cli.output import one_line

    line = f"{row.number:>6}{row.mark} "
    # The narrowest terminal has no room for tokens either.
    if width >= _WIDE:
        line += f"{row.name:<{_SHORT}}  {row.time:<19}  {row.what:<{_KIND}}  {row.tokens:>11}  "
    elif width >= _NARROW:
        line += f"{row.name:<{_SHORT}}  {row.time:<11}  "
        line += f"{one_line(row.what, _SHORT):<{_SHORT}} {row.tokens:>11}  "
    else:
        line += f"{one_line(row.name, _SHORTEST):<{_SHORTEST}}  {one_line(row.what, _SHORT):<{_SHORT}}  "
    return (line + one_line(row.text, min(max(width - len(line), 12), 70))).rstrip()


def _check_named(snapshot: Snapshot, session: str, *, kind: tuple[str, ...], role: tuple[str, ...]) -> None:
    """Raise NotFoundError for a kind or role that is unknown and not in the session."""
    from eventstore.errors import NotFoundError
    from eventstore.event import ROLES
    from eventstore.paths import events

    for what, names, known in (("kind", kind, set(CODE_OF_KIND)), ("role", role, set(ROLES))):
        if set(names) <= known:
            continue
        there = {getattr(event, what) for event in events(snapshot, session)} - {""}
        for name in names:
            if name not in known | there:
                raise NotFoundError(f"{what} of events", name, f"the session has {', '.join(sorted(there))}")


def _chosen(
    snapshot: Snapshot,
    session: str,
    *,
    kind: tuple[str, ...],
    role: tuple[str, ...],
    match: str | None,
) -> Iterator[Event]:
    from eventstore.paths import events

    for found in events(snapshot, session):
        event = found.decode()
        if (
            (not kind or event.kind in kind)
            and (not role or event.role in role)
            and (not match or match.encode() in event.body)
        ):
            yield event


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as a JSON value; times are in RFC 3339."""
    from eventstore.javascript import iso_time

    return {
        "seq": event.seq,
        "id": event.id,
        "parent": event.parent,
        "kind": event.kind,
        "time": iso_time(event.time),
        "entry": event.is_entry,
        "role": event.role or None,
        "format": event.format,
        "cause": event.cause or None,
        "recorded": iso_time(event.recorded),
        "position": event.position,
        "tokens": {"utf16/4": event.utf16, "bytes/4": event.utf8},
        "bytes": len(event.body),
        "digest": event.digest.hex(),
    }
