"""The views of Claude Code's records."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from eventstore.formats.claude_code.api_message import NO_MODEL, PROVIDER, view_of, wire_of
from eventstore.formats.claude_code.record import (
    Fields,
    by_person,
    custom_text,
    fields_of,
    is_boundary,
    kept_by,
    shown_by,
    title_of,
)
from eventstore.javascript import text_or_empty
from eventstore.node import CompactionView, Node, SettingsView
from eventstore.views import Extension, Message, Text


def view(kind: str, record: bytes, parent: bytes | None = None) -> Node:
    """Return a record's view; `parent` is the compaction boundary above it."""
    fields = fields_of(record)
    found = _view(kind, fields, parent)
    folder = text_or_empty(fields.cwd)
    return msgspec.structs.replace(found, folder=folder) if folder else found


def _view(kind: str, fields: Fields, parent: bytes | None) -> Node:
    if kind == "message":
        return _message(fields)
    if kind == "custom_message":
        return _custom_message(fields)
    if kind == "compaction":
        return _compaction(fields, fields_of(parent) if parent else Fields())
    if kind == "note":
        return _note(fields)
    if kind == "rewrite":
        return Node(rewrites=shown_by(fields), line=_line(fields))
    return Node(line=_line(fields))


def _message(fields: Fields) -> Node:
    raw = fields.raw_message
    messages = tuple(fields.views)
    if messages[0].role != "assistant":
        is_by_person = any(by_person(fields, each) for each in messages) and fields.isSidechain is not True
        return Node(messages=messages, by_person=is_by_person)
    wire = wire_of(raw)
    if fields.isApiErrorMessage is True or wire.model == NO_MODEL:
        return Node(messages=(Message(role="assistant", blocks=messages[0].blocks, stop_reason="error"),))
    model = wire.model if isinstance(wire.model, str) else UNSET
    return Node(
        messages=messages,
        group=wire.id if isinstance(wire.id, str) else "",
        settings=SettingsView(provider=PROVIDER, model=model),
    )


def _custom_message(fields: Fields) -> Node:
    attachment = fields.attachment if isinstance(fields.attachment, dict) else {}
    name = attachment.get("type") or (fields.subtype if fields.type == "system" else "meta")
    extension = Extension(type=str(name), data=attachment or None)
    text = view_of(b'{"role":"user","isMeta":true,"content":%s}' % custom_text(fields))
    return Node(
        messages=(Message(role="custom", blocks=text.blocks, extension=extension),),
        # Text that the user typed while the model was working is recorded as an attachment.
        by_person=name == "queued_command" and attachment.get("commandMode") in (None, "prompt"),
        extension=extension,
    )


def _compaction(fields: Fields, boundary: Fields) -> Node:
    blocks = view_of(fields.raw_message).blocks
    summary = "".join(block.text for block in blocks if isinstance(block, Text))
    metadata = boundary.compactMetadata if is_boundary(boundary) else None
    claims = metadata if isinstance(metadata, dict) else {}
    kept = kept_by(boundary) if is_boundary(boundary) else None
    return Node(
        messages=(Message(role="compactionSummary", blocks=blocks),),
        compaction=CompactionView(
            summary=summary,
            tokens_before=_count(claims.get("preTokens")),
            tokens_after=_count(claims.get("postTokens")),
            reason=text_or_empty(claims.get("trigger")),
            kept=kept.ids if kept else None,
            last_kept=kept.last if kept and kept.ids is None else "",
            keeps_before=kept.before if kept else False,
            removed=kept.removed if kept else frozenset(),
        ),
    )


def _note(fields: Fields) -> Node:
    title = title_of(fields)
    return Node(title=title, line=title.text) if title else Node(line=_line(fields))


def _line(fields: Fields) -> str:
    attachment = fields.attachment if isinstance(fields.attachment, dict) else {}
    named = (fields.type, fields.subtype, attachment.get("type"))
    content = fields.content if fields.type == "system" else None
    return " ".join(each for each in (*named, content) if isinstance(each, str))


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53
    return int(value) if is_count else None
