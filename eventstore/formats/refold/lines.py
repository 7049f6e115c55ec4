"""Events as lines of JSON: how a harness in any language writes a session.

A line is an entry in pi's shape: `type` names the kind, and the fields are the record's. `id`, `parentId`,
`timestamp` and `cause` are the event's own and may be left out; what else is not known is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from eventstore.errors import BadInputError
from eventstore.event import NewEvent, Parent
from eventstore.formats.pi.entry import entry_of, facts_of, is_reserved
from eventstore.javascript import DEEPEST_RECORD, epoch_ms, is_deeper, stringify
from eventstore.records import BOOKKEEPING, FORMAT, RECORDS, check_record

_OWN_FIELDS: Final = ("id", "parentId", "timestamp", "cause")


def event_of_line(
    line: bytes, *, number: int, clock: Callable[[], int], new_id: Callable[[], str]
) -> NewEvent:
    """The event of a line. What it leaves out is supplied: the time now, a new id, the leaf as parent.

    Raises BadInputError with the line's number, and what is wrong with which field.
    """
    if is_deeper(line, DEEPEST_RECORD):
        raise _bad(
            number, f"is nested deeper than {DEEPEST_RECORD} levels", "put what is deeper into it as a text"
        )
    try:
        fields = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(number, f"no JSON object ({error})", "write an object a line") from None
    kind = fields.get("type")
    if not isinstance(kind, str) or not kind:
        raise _bad(number, 'has no "type"', 'name the kind of event, as "message"')
    if kind in BOOKKEEPING or kind == "session":
        raise _bad(number, f"{kind!r} is of a file that is imported", "take the file in with refold import")
    time = _time(fields, number)
    event_id, cause = (_text(fields, name, number) for name in ("id", "cause"))
    if is_reserved(event_id):
        raise _bad(number, f"id {event_id!r} is one that imports use", "give it another id, or none")
    parent = fields.get("parentId", Parent.LEAF)
    if not (parent is None or parent is Parent.LEAF or isinstance(parent, str)):
        raise _bad(
            number, '"parentId" is neither an id nor null', "name an event of the session, or leave it out"
        )
    record = {name: value for name, value in fields.items() if name not in _OWN_FIELDS}
    body = stringify(record).encode()
    if kind in RECORDS:
        try:
            check_record(kind, body)
        except BadInputError as error:
            raise _bad(number, f"is no {kind}: {error.problem}", error.remedy) from None
    return NewEvent(
        id=event_id or new_id(),
        kind=kind,
        body=body,
        format=FORMAT,
        parent=parent,
        time=clock() if time is None else time,
        # Without an id, it is another event each time, even if a new id should ever meet one that is taken.
        is_clocked=time is None and event_id != "",
        cause=cause,
        facts=facts_of(kind, body, entry_of(body)),
    )


def _time(fields: dict[str, Any], number: int) -> int | None:
    if "timestamp" not in fields:
        return None
    time = epoch_ms(fields["timestamp"])
    if time is None:
        raise _bad(
            number, '"timestamp" is no time', "write RFC 3339, as 2026-01-31T12:00:00.000Z, or milliseconds"
        )
    return time


def _text(fields: dict[str, Any], name: str, number: int) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise _bad(number, f'"{name}" is no text', "write a text, or leave it out")
    return value


def _bad(number: int, problem: str, remedy: str) -> BadInputError:
    return BadInputError("standard input", problem, remedy, line=number)
