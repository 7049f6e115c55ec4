"""Export sessions as files of version 3 of pi or oh-my-pi, whatever their format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from eventstore.errors import NotFoundError
from eventstore.event import Event, Flag, NewEvent
from eventstore.formats.pi.entry import KINDS
from eventstore.formats.pi.file import NEWEST_VERSION, PI, Dialect
from eventstore.frame import decode
from eventstore.imports import newest_import, origin_of
from eventstore.javascript import iso_time, stringify, tolerant_json
from eventstore.log import Head, Snapshot
from eventstore.records import FORMAT, embedded

CUSTOM_TYPE_PREFIX: Final = "refold."
"""Prefix of the types of `custom` entries that replace kinds unknown to pi."""
_SHAPED: Final = ("pi", "oh-my-pi")
"""The harnesses whose records have pi's shape."""
OH_MY_PIS: Final = frozenset(
    {"title", "titleSource", "additionalDirectories", "previousSessionFiles", "providerPromptCacheKey"}
)
"""Fields of a header that pi does not know."""


def export_file(snapshot: Snapshot, session: str, dialect: Dialect = PI) -> Iterator[bytes]:
    """Yield a session as a file of version 3, line by line, including later events.

    Off-path events are omitted. Entries of unknown kinds become `custom` entries, so that the newest entry,
    which the harness takes for the leaf, stays the newest.
    """
    head = snapshot.head(session)
    yield stringify(_header(snapshot, head, dialect)).encode() + b"\n"
    for frame in snapshot.frames(session):
        event = decode(frame, session)
        if event.is_entry:
            yield pi_line(snapshot, event, dialect) + b"\n"


def is_exported(snapshot: Snapshot, event: NewEvent, stored: Event, dialect: Dialect) -> bool:
    """Return True if a file's record equals an export of the event with its id."""
    if not stored.is_entry:
        return False
    return stringify(tolerant_json(event.body)).encode() == pi_line(snapshot, stored, dialect)


def _header(snapshot: Snapshot, head: Head, dialect: Dialect) -> dict[str, Any]:
    newest = newest_import(snapshot, head)
    if newest is not None and _harness(newest.source_format) in _SHAPED:
        named = {"type": "session", "id": head.name, **tolerant_json(embedded(newest.header))}
        if dialect is PI:
            named = {name: value for name, value in named.items() if name not in OH_MY_PIS}
        return {**named, "version": NEWEST_VERSION}
    cwd = ""
    if head.info_seq:
        cwd = tolerant_json(decode(snapshot.frame(head.name, head.info_seq), head.name).body).get("cwd", "")
    parent = _forked_from(snapshot, head)
    if isinstance(parent, Head):
        cwd = cwd or _header(snapshot, parent, dialect).get("cwd", "")
    # pi names a parent's file; a parent without one is given by its name.
    named = {"parentSession": parent.source or parent.name if isinstance(parent, Head) else parent}
    return {
        "type": "session",
        "version": NEWEST_VERSION,
        "id": head.name,
        "timestamp": iso_time(head.first_time) or iso_time(0),
        "cwd": cwd,
        **(named if parent else {}),
    }


def _forked_from(snapshot: Snapshot, head: Head) -> Head | str:
    """Return the file or name of a fork's parent session, "" for no fork."""
    link = origin_of(snapshot, head.name, "fork")
    if link is None:
        return ""
    try:
        return snapshot.head(link.session)
    except NotFoundError:
        return link.session


def pi_line(snapshot: Snapshot, event: Event, dialect: Dialect = PI) -> bytes:
    """Return an entry's line in a file of version 3, without the line end."""
    target = snapshot.frame(event.session, event.target_seq) if event.target_seq else None
    named = decode(target, event.session).id if target is not None else None
    return stringify(_entry(event, named, dialect)).encode()


def _harness(written_as: str) -> str:
    return written_as.partition("/")[0]


def _entry(event: Event, target: str | None, dialect: Dialect) -> dict[str, Any]:
    record = tolerant_json(event.body)
    node = {"id": event.id, "parentId": event.parent}
    if _harness(event.format) in _SHAPED:
        migrated = {**_migrated(event, record, target), **node}
        return migrated if _harness(event.format) == dialect.harness else _translated(migrated, dialect)
    stamp = {**node, "timestamp": iso_time(event.time) or iso_time(event.recorded)}
    if event.format != FORMAT:
        return {"type": "custom", **stamp, "customType": f"{event.format}.{event.kind}", "data": record}
    kind = record.pop("type")
    if kind in KINDS:
        written = {"type": kind, **stamp, **_as_pi_writes(kind, record)}
        return written if dialect is PI else _translated(written, dialect)
    return {"type": "custom", **stamp, "customType": CUSTOM_TYPE_PREFIX + kind, "data": record}


def _migrated(event: Event, record: dict[str, Any], target: str | None) -> dict[str, Any]:
    """Convert an older record to version 3 as pi does: hook messages become custom, indexes ids."""
    if event.flags & Flag.MIGRATED_ROLE:
        record["message"]["role"] = "custom"
    if event.format.endswith("/1") and event.kind == "compaction":
        record.pop("firstKeptEntryIndex", None)
        if target is not None:
            record["firstKeptEntryId"] = target
    return record


def _translated(record: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Convert an entry between pi's and oh-my-pi's form; one without a counterpart is `custom`."""
    translate = (_TO_PI if dialect is PI else _TO_OH_MY_PI).get(str(record.get("type")))
    translated = record if translate is None else {**_node(record), **translate(record)}
    if str(translated.get("type")) in dialect.kinds:
        return translated
    rest = {name: value for name, value in record.items() if name not in _NODE}
    named = f"{'oh-my-pi' if dialect is PI else 'pi'}.{record.get('type')}"
    return {**_node(record), "type": "custom", "customType": named, "data": rest}


_NODE: Final = ("type", "id", "parentId", "timestamp")


def _node(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in _NODE if name in record}


def _model_for_pi(record: dict[str, Any]) -> dict[str, Any]:
    provider, slash, model = str(record.get("model", "")).partition("/")
    # A model for a role other than the conversation's has no counterpart.
    if not slash or record.get("role") not in (None, "default"):
        return {"type": ""}
    return {"provider": provider, "modelId": model}


def _model_for_oh_my_pi(record: dict[str, Any]) -> dict[str, Any]:
    return {"model": f"{record.get('provider', '')}/{record.get('modelId', '')}", "role": "default"}


def _renamed(old: str, new: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda record: {(new if name == old else name): value for name, value in record.items()}


_TO_PI: Final = {
    "model_change": _model_for_pi,
    "title_change": lambda record: {"type": "session_info", "name": record.get("title", "")},
    "compaction": _renamed("fromExtension", "fromHook"),
    "branch_summary": _renamed("fromExtension", "fromHook"),
}
_TO_OH_MY_PI: Final = {
    "model_change": _model_for_oh_my_pi,
    "session_info": lambda record: {
        "type": "title_change",
        "title": record.get("name", ""),
        "source": "user",
    },
    "compaction": _renamed("fromHook", "fromExtension"),
    "branch_summary": _renamed("fromHook", "fromExtension"),
}


def _as_pi_writes(kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """Convert a record of refold's to the fields that pi expects."""
    if kind == "message":
        record.pop("shape", None)
    elif kind == "compaction":
        _by_whom(record)
    elif kind == "branch_summary":
        _by_whom(record)
        record["fromId"] = record.get("fromId") or "root"
    elif kind == "custom_message":
        record.setdefault("display", True)
    return record


def _by_whom(record: dict[str, Any]) -> None:
    """Mark a summary by an extension, and put its data into `details`, as pi does."""
    record["fromHook"] = record.pop("fromExtension", False)
    if given := record.pop("extensionDetails", None):
        record["details"] = {**given, **(record.get("details") or {})}
