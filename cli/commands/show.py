"""refold show."""

from __future__ import annotations

import json
from typing import Any, Final

import click

from cli.options import json_option
from cli.output import one_line

_SUMMARIZED: Final = frozenset({"compaction", "branch_summary"})
"""Kinds of records that hold a summary and how it was made."""
_LONG: Final = 120


def record_text(kind: str, record: Any) -> str:
    """Return a record as JSON.

    If it holds a summary, cut other long texts in the JSON and append the summary as text.
    """
    summary = record.get("summary") if kind in _SUMMARIZED and isinstance(record, dict) else None
    if not isinstance(summary, str):
        return _json(record)
    rest = {name: _cut(value) for name, value in record.items() if name != "summary"}
    return f"{_json(rest)}\n\nsummary, {len(summary):,} characters:\n\n{summary.strip()}"


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONG:
        return f"{one_line(value, _LONG).removesuffix('…')}… ({len(value):,} characters; --json has all)"
    if isinstance(value, list):
        return [_cut(each) for each in value]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return value


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@click.command("show", epilog="Example:  refold show @last '#1'")
@click.argument("session")
@click.argument("event")
@json_option
@click.option("--raw", is_flag=True, help="Print only the record's bytes, unchanged.")
@click.pass_context
def command(ctx: click.Context, session: str, event: str, *, as_json: bool, raw: bool) -> None:
    """Show one event: its position and its record, with a summary as text.

    --json and --raw leave the summary inside the record. EVENT is an id, a unique prefix of one, a label, or
    #N for event number N.
    """
    from msgspec import DecodeError

    from cli.commands.log import event_json
    from cli.output import console, echo_bytes, echo_json, echo_problem, paged, print_line, safe_line
    from cli.store import opened_session, resolve_event
    from eventstore import paths
    from eventstore.checked import check_event
    from eventstore.errors import CorruptionError
    from eventstore.javascript import tolerant_json

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        event_id = resolve_event(snapshot, name, event)
        seq = snapshot.locate(name, event_id)
        damage: CorruptionError | None = None
        try:
            check_event(snapshot, name, seq)
        except CorruptionError as error:
            damage = error
        found = paths.event(snapshot, name, seq).decode()
        try:
            record = None if raw else tolerant_json(found.body)
        except DecodeError as error:
            damage = damage or CorruptionError(
                name, seq, f"its record cannot be read ({error}): --raw shows it"
            )
            record = found.body.decode("utf-8", "replace")
    if damage is not None:
        echo_problem(str(damage))
    if raw:
        echo_bytes(found.body + b"\n")
        ctx.exit(1 if damage else 0)
    if as_json:
        echo_json({**event_json(found), "record": record})
        ctx.exit(1 if damage else 0)
    fields = {
        **event_json(found),
        "entry": "yes" if found.is_entry else "no",
        "tokens": f"{found.utf16:,} (utf16/4), {found.utf8:,} (bytes/4), both estimates",
        "bytes": f"{len(found.body):,}",
    }
    out = console()
    with paged(out):
        for field, value in fields.items():
            if value is not None:
                print_line(out, f"{field:<9} {safe_line(str(value))}")
        out.print()
        print_line(out, record_text(found.kind, record))
    ctx.exit(1 if damage else 0)
