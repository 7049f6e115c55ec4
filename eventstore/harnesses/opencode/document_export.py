"""Write a session as an export of opencode's: its messages as they are now."""

from __future__ import annotations

from collections.abc import Iterator

from eventstore.harnesses.opencode.sent import encoded
from eventstore.harnesses.opencode.session_records import (
    KEEPS_BEFORE,
    VERSION,
    Json,
    record_of,
    text,
    time_of,
)
from eventstore.imports import observed_rewrites
from eventstore.javascript import tolerant_json
from eventstore.log import Snapshot
from eventstore.paths import events


def export_document(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    """Yield the export of a session.

    What refold appended is in its field `refold`, which opencode ignores.
    """
    info: Json = {}
    infos, parts, others = dict[str, Json](), dict[str, dict[str, Json]](), list[Json]()
    changed = observed_rewrites(snapshot, session)
    for each in events(snapshot, session):
        if each.format not in (VERSION, KEEPS_BEFORE):
            if each.is_entry:
                record = tolerant_json(each.body)
                others.append({"id": each.id, "kind": each.kind, "format": each.format, "record": record})
            continue
        found = record_of(changed.get(each.seq, [each.body])[-1])
        info = found.session or info
        message, part = found.removed
        if message:
            if part:
                parts.get(message, {}).pop(part, None)
            else:
                infos.pop(message, None)
        elif found.message:
            infos[found.message] = found.info
            for place, one in enumerate((*found.parts, *filter(None, (found.asked,)))):
                own = parts.setdefault(text(one.get("messageID")) or found.message, {})
                own[text(one.get("id")) or f"~{place}"] = one
    yield b'{"info":%b,"messages":[' % encoded(info)
    ordered = sorted(infos.values(), key=lambda one: (time_of(one) or 0, text(one.get("id"))))
    for place, one in enumerate(ordered):
        own = parts.get(text(one.get("id")), {})
        message_parts = [own[name] for name in sorted(own)]
        yield (b"," if place else b"") + encoded({"info": one, "parts": message_parts})
    yield b"]" + (b',"refold":%b' % encoded(others) if others else b"") + b"}"
