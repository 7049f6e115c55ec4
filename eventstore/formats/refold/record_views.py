"""Convert the records that only refold writes to views; all others have pi's views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from eventstore.formats.pi.view import joined, requests_of
from eventstore.formats.pi.view import view as pi_view
from eventstore.javascript import text_or_empty, tolerant_decoder
from eventstore.node import Node
from eventstore.records import TextReplacement


def view(kind: str, record: bytes) -> Node:
    """Return the meaning of a record."""
    reader = _READERS.get(kind)
    return reader(record) if reader is not None else pi_view(kind, record)


class _Fields(msgspec.Struct, frozen=True):
    cwd: Any = None
    data: Any = None
    error: Any = None
    fromId: Any = None  # noqa: N815  names in records
    numbers: Any = None
    outcome: Any = None
    policy: Any = None
    reason: Any = None
    records: Any = None
    relation: Any = None
    request: Any = None
    session: Any = None
    sourceFormat: Any = None  # noqa: N815
    targets: Any = ()
    targetId: Any = None  # noqa: N815
    unknown: Any = None


_fields_of: Final = tolerant_decoder(_Fields)


def _attempt(record: bytes) -> Node:
    fields = _fields_of(record)
    requests = requests_of(fields.request)
    # The last of several requests may omit the model, which then applies to all.
    together = text_or_empty(fields.request.get("summarizer")) if isinstance(fields.request, dict) else ""
    asked = (requests[-1].summarizer if requests else "") or together
    return Node(
        requests=requests, line=": ".join(each for each in (asked, text_or_empty(fields.error)) if each)
    )


def _decision(record: bytes) -> Node:
    fields = _fields_of(record)
    line = joined(fields.policy, fields.outcome, fields.reason)
    return Node(requests=requests_of(fields.numbers, alone=False), line=line)


def _note(record: bytes) -> Node:
    fields = _fields_of(record)
    data = fields.data if isinstance(fields.data, dict) else {}
    return Node(requests=requests_of(data.get("request")), line=joined(fields.targetId, data.get("type")))


def _session_info(record: bytes) -> Node:
    folder = text_or_empty(_fields_of(record).cwd)
    return msgspec.structs.replace(pi_view("session_info", record), folder=folder)


def _rewrite(record: bytes) -> Node:
    fields = _fields_of(record)
    try:
        rewrites = msgspec.convert(fields.targets, tuple[TextReplacement, ...])
    except msgspec.ValidationError:
        rewrites = ()
    return Node(rewrites=rewrites, line=joined(fields.reason))


def _import(record: bytes) -> Node:
    fields = _fields_of(record)
    unknown = fields.unknown if isinstance(fields.unknown, dict) else {}
    types = ", ".join(f"{name} ({number})" for name, number in unknown.items())
    line = joined(fields.sourceFormat, fields.records)
    return Node(line=f"{line}, of unknown types: {types}" if types else line)


def _line_of(*names: str) -> Callable[[bytes], Node]:
    """Return a reader for kinds with only a line for logs: the values of these fields."""

    def read(record: bytes) -> Node:
        fields = _fields_of(record)
        return Node(line=joined(*(getattr(fields, name) for name in names)))

    return read


_READERS: Final[dict[str, Callable[[bytes], Node]]] = {
    "attempt": _attempt,
    "decision": _decision,
    "session_info": _session_info,
    "rewrite": _rewrite,
    "leaf_moved": _line_of("fromId"),
    "undone": _line_of("targetId"),
    "import": _import,
    "link": _line_of("relation", "session"),
    "observed_rewrite": _line_of("targetId"),
    "note": _note,
}
