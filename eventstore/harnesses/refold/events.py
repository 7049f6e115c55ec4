"""Create events from refold's own records: from structs or from lines of JSON.

A line lets a harness in any language write a session: an entry in pi's shape, in which `type` is the kind,
and the fields are the record's. `id`, `parentId`, `timestamp` and `cause` are the event's own and optional;
unknown fields are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from eventstore.errors import BadInputError
from eventstore.event import NewEvent, Parent
from eventstore.harnesses.names import is_reserved
from eventstore.harnesses.refold import own_facts
from eventstore.javascript import DEEPEST_RECORD, epoch_ms, is_deeper, parse_json, stringify, well_formed
from eventstore.kinds import is_entry
from eventstore.records import BOOKKEEPING, FORMAT, RECORDS, SEE_EVENTS, Record, check_record

_OWN_FIELDS: Final = ("id", "parentId", "timestamp", "cause")
_HALF_A_PAIR: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_encode: Final = msgspec.json.Encoder().encode
_decode_any: Final = msgspec.json.Decoder().decode


def event_of_line(
    line: bytes, *, number: int, clock: Callable[[], int], new_id: Callable[[], str]
) -> NewEvent:
    """Return the event of a line; supply a missing time, id and parent (the leaf).

    Raises BadInputError with the line's number, the field and the problem.
    """
    if is_deeper(line, DEEPEST_RECORD):
        raise _bad(number, f"is nested deeper than {DEEPEST_RECORD} levels", "store deeper levels as a text")
    try:
        fields = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(number, f"is not a JSON object ({error})", "write one object per line") from None
    kind = fields.get("type")
    if not isinstance(kind, str) or not kind:
        raise _bad(number, 'has no "type"', 'name the kind of event, such as "message"')
    if kind in BOOKKEEPING or kind == "session":
        raise _bad(
            number, f"{kind!r} is a record of session files", "import the file with 'refold sync FILE'"
        )
    time = _time(fields, number)
    event_id, cause = (_text(fields, name, number) for name in ("id", "cause"))
    if is_reserved(event_id):
        raise _bad(number, f"id {event_id!r} is reserved for imports", "choose another id, or leave it out")
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
            raise _bad(number, f"is not a valid {kind}: {error.problem}", error.remedy) from None
    return NewEvent(
        id=event_id or new_id(),
        kind=kind,
        body=body,
        format=FORMAT,
        parent=parent,
        time=clock() if time is None else time,
        # Without an id it is a new event each time, even if a new id collides with an existing one.
        is_clocked=time is None and event_id != "",
        cause=cause,
        facts=own_facts(kind, body),
    )


def _time(fields: dict[str, Any], number: int) -> int | None:
    if "timestamp" not in fields:
        return None
    time = epoch_ms(fields["timestamp"])
    if time is None:
        raise _bad(
            number,
            '"timestamp" is not a valid time',
            "write RFC 3339, such as 2026-01-31T12:00:00.000Z, or milliseconds",
        )
    return time


def _text(fields: dict[str, Any], name: str, number: int) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise _bad(number, f'"{name}" is not a text', "write a text, or leave it out")
    return value


def _bad(number: int, problem: str, remedy: str) -> BadInputError:
    return BadInputError("standard input", problem, remedy, line=number)


def compose(
    record: Record,
    *,
    id: str,
    time: int | None,
    parent: str | Parent | None = Parent.LEAF,
    cause: str = "",
) -> NewEvent:
    """Return the event with a record. `time` is in epoch milliseconds.

    Lone surrogates, which have no UTF-8, become U+FFFD. Raises BadInputError for a field of a wrong type,
    because the record could not be read again.
    """
    try:
        body = _whole(_encoded(record))
    except (TypeError, ValueError) as error:
        raise BadInputError(
            f"record of kind {record.kind!r}", f"it cannot be encoded as JSON ({error})", SEE_EVENTS
        ) from None
    except RecursionError:
        raise _too_deep(record) from None
    if is_entry(record.kind) and is_deeper(body, DEEPEST_RECORD):
        raise _too_deep(record)
    check_record(record.kind, body)
    return NewEvent(
        id=id,
        kind=record.kind,
        body=body,
        format=FORMAT,
        parent=parent,
        time=time,
        cause=cause,
        facts=own_facts(record.kind, body),
    )


def _too_deep(record: Record) -> BadInputError:
    problem = f"it is nested deeper than {DEEPEST_RECORD} levels"
    return BadInputError(f"record of kind {record.kind!r}", problem, "store deeper levels as a text")


def _encoded(record: Record) -> bytes:
    try:
        return _encode(record)
    except UnicodeEncodeError:
        return _encode(_well_formed(msgspec.to_builtins(record, enc_hook=msgspec.json.decode)))


def _whole(body: bytes) -> bytes:
    """Replace lone surrogates, which a message may contain as escapes, in a record's JSON."""
    if not _HALF_A_PAIR.search(body):
        return body
    try:
        _decode_any(body)
    except msgspec.DecodeError:
        return stringify(_well_formed(parse_json(body.decode()))).encode()
    return body


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(inner) for key, inner in value.items()}
    return [_well_formed(inner) for inner in value] if isinstance(value, list | tuple) else value
