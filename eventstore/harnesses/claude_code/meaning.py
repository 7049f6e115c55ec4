"""Say what a record of a Claude Code session means: its messages, its facts, its node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from eventstore.estimates import estimates
from eventstore.event import EventFacts, Flag
from eventstore.facts import facts_of_message, facts_of_node
from eventstore.harnesses.claude_code.api_message import (
    PROVIDER,
    Content,
    blocks_of,
    content_of,
    split,
    view_of_content,
    wire_of,
)
from eventstore.harnesses.claude_code.attachments import as_reminder
from eventstore.harnesses.claude_code.record import (
    Fields,
    fields_of,
    has_content,
    is_boundary,
    kept_by,
    printed,
    shown_by,
)
from eventstore.harnesses.names import is_name, stored_id
from eventstore.javascript import tolerant_json
from eventstore.node import CompactionView, Node, SettingsView, TitleRank, TitleView
from eventstore.views import Block, Extension, Message, Text


def _custom_content(fields: Fields) -> bytes:
    """Return the JSON of a `custom_message` record's content; of a rendered one, the first."""
    if fields.type == "attachment":
        return printed(fields.attached[0] if fields.attached else "")
    if fields.type == "system":
        return printed(fields.content)
    content = content_of(wire_of(fields.raw_message))
    return _as_reminder(content) if fields.ownNote is True else content


def _custom_blocks(fields: Fields) -> tuple[Block, ...]:
    """Return the blocks of a `custom_message` record, of all its messages together."""
    if _lost_message(fields):
        return ()
    if fields.type != "attachment":
        return blocks_of(_custom_content(fields))
    blocks = list[Block]()
    for content in fields.attached or ("",):
        if isinstance(content, str):
            blocks.append(Text(content))
        else:
            blocks += blocks_of(printed(content))
    return tuple(blocks)


def _lost_message(fields: Fields) -> bool:
    """Return True for a record that was changed in place, and has nothing to send any more."""
    return fields.type not in ("attachment", "system") and not fields.raw_message


def _as_reminder(content: bytes) -> bytes:
    """Wrap the texts of a note in the harness's own name as it does when it sends them."""
    decoded = tolerant_json(content)
    if isinstance(decoded, str):
        return printed(_REMINDER % decoded)
    return printed(
        [
            {**block, "text": _REMINDER % block["text"]} if isinstance(block.get("text"), str) else block
            for block in decoded
        ]
        if has_content({"content": decoded})
        else decoded
    )


_REMINDER: Final = "<system-reminder>\n%s\n</system-reminder>"


def shown_messages(kind: str, record: bytes) -> Sequence[bytes]:
    """Return the messages that a record sends to the model, as a context shows them."""
    fields = fields_of(record)
    if kind == "message":
        return () if fields.is_unsent or not fields.raw_message else split(fields.raw_message)
    if kind == "custom_message":
        if _lost_message(fields):
            return ()
        if fields.type != "attachment" or (fields.rendered is None and not fields.is_placed):
            return (b'{"role":"user","isMeta":true,"content":%s}' % _custom_content(fields),)
        attached = fields.attached
        if fields.rendered is None and (fields.attachment or {}).get("type") == "queued_command":
            attached = [as_reminder("queued_command", [each for each in attached if isinstance(each, str)])]
        beside = b"true" if fields.renderedBesideToolResult is True else b"false"
        return [
            b'%b%d,"besideResult":%s,"content":%s}' % (RENDERED, place, beside, printed(each))
            for place, each in enumerate(attached)
        ]
    return (fields.raw_message,) if kind == "compaction" and fields.raw_message else ()


RENDERED: Final = b'{"role":"user","isMeta":true,"rendered":'
"""The beginning of the messages of a rendered attachment."""


class Rendered(msgspec.Struct, frozen=True):
    """The place of a rendered attachment's message in its record, None for other messages."""

    rendered: int | None = None
    besideResult: bool = False  # noqa: N815  named as Claude Code's own field


_decode_rendered: Final = msgspec.json.Decoder(Rendered).decode
_NOT_RENDERED: Final = Rendered()


def rendered_of(message: bytes) -> Rendered:
    """Return the place of a message that `shown_messages` gave, and whether it joins no result."""
    if not message.startswith(RENDERED):
        return _NOT_RENDERED
    try:
        return _decode_rendered(message)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _NOT_RENDERED


_TITLES: Final = {
    ("custom-title", "customTitle"): TitleRank.PERSON,
    ("ai-title", "aiTitle"): TitleRank.MODEL,
    ("summary", "summary"): TitleRank.SUMMARY,
}
"""The types and fields of records that hold a session's title, with the title's rank."""


def title_of(fields: Fields) -> TitleView | None:
    """Return the title that a record gives its session."""
    for (named, field), rank in _TITLES.items():
        text = getattr(fields, field) if fields.type == named else None
        if text is not None and (title := text.strip()):
            leaf = fields.leafUuid or ""
            about = stored_id(leaf) if rank is TitleRank.SUMMARY and is_name(leaf) else ""
            return TitleView(text=title, rank=rank, about=about)
    return None


def facts_of(kind: str, record: bytes, fields: Fields, flags: int) -> EventFacts:
    """Return what the log stores beside a record; `flags` are those of its bytes.

    They are the facts of its node, which is not made for a message.
    """
    if kind != "message":
        return facts_of_node(node_of(kind, fields), kind, record)
    contents, raw, sizes = fields.contents, fields.raw_message, (0, 0)
    role, blocks = contents[0].role, contents[0].blocks
    if len(contents) > 1:
        raw, blocks = b"", tuple(block for each in contents for block in each.blocks)
    is_made_up = fields.is_made_up
    if is_made_up:
        raw = b""
    elif role == "assistant":
        flags |= _SETS_MODEL
    if fields.is_unsent:
        raw = b""
    else:
        sizes = estimates(role, blocks)
    return facts_of_message(record, role, raw, sizes, flags)


_SETS_MODEL: Final = int(Flag.SETS_MODEL)


def _contents_of(kind: str, fields: Fields) -> Sequence[Content]:
    """Return the contents of the messages that a record holds or becomes."""
    if kind == "message":
        return fields.contents
    if kind == "compaction":
        return (Content("compactionSummary", fields.contents[0].blocks),)
    return (Content("custom", _custom_blocks(fields)),)


def node_of(kind: str, fields: Fields, parent: bytes | None = None) -> Node:
    """Return a record's meaning; `parent` is the compaction boundary above it."""
    folder = fields.cwd or ""
    if kind == "message":
        return _node_of_message(fields, folder)
    if kind == "custom_message":
        return _node_of_custom_message(fields, folder)
    if kind == "compaction":
        (content,) = _contents_of(kind, fields)
        message = Message(role=content.role, blocks=content.blocks)
        boundary = fields_of(parent) if parent else Fields()
        return Node(messages=(message,), compaction=_compaction(message.text, boundary), folder=folder)
    title = title_of(fields)
    rewrites = shown_by(fields) if kind == "rewrite" else ()
    # Releases before attachments have what was typed meanwhile only there.
    is_typed = fields.type == "queue-operation" and isinstance(fields.content, str)
    typed = fields.content if is_typed else ""
    line = title.text if title else _line(fields)
    return Node(title=title, rewrites=rewrites, line=line, typed=typed, folder=folder)


def _node_of_message(fields: Fields, folder: str) -> Node:
    wire = fields.wire
    if fields.is_made_up:
        unsent = Message(role="assistant", blocks=fields.contents[0].blocks, stop_reason="error")
        return Node(messages=(unsent,), is_sent=not fields.is_unsent, folder=folder)
    messages = tuple(view_of_content(each, wire) for each in fields.contents)
    raw = fields.raw_message if len(messages) == 1 else b""
    if messages[0].role != "assistant":
        by_person, is_sent = fields.is_by_person, not fields.is_unsent
        return Node(messages=messages, by_person=by_person, is_sent=is_sent, raw=raw, folder=folder)
    settings = SettingsView(provider=PROVIDER, model=UNSET if wire.model is None else wire.model)
    return Node(
        messages=messages,
        group=wire.id or "",
        settings=settings,
        raw=raw,
        flags=Flag.SETS_MODEL,
        folder=folder,
    )


def _node_of_custom_message(fields: Fields, folder: str) -> Node:
    data = fields.attachment or {}
    name = data.get("type") or (fields.subtype if fields.type == "system" else "meta")
    extension = Extension(type=str(name), data=data or None)
    (content,) = _contents_of("custom_message", fields)
    message = Message(role=content.role, blocks=content.blocks, extension=extension)
    # Text that the user typed while the model was working is recorded as an attachment.
    is_typed = name == "queued_command" and data.get("commandMode") in (None, "prompt")
    return Node(
        messages=(message,),
        by_person=is_typed,
        # Attachments of a prompt follow the prompt.
        restores=fields.type == "attachment",
        extension=extension,
        folder=folder,
    )


def _compaction(summary: str, boundary: Fields) -> CompactionView:
    claims = (boundary.compactMetadata if is_boundary(boundary) else None) or {}
    kept = kept_by(boundary) if is_boundary(boundary) else None
    reason = claims.get("trigger")
    return CompactionView(
        summary=summary,
        tokens_before=_count(claims.get("preTokens")),
        tokens_after=_count(claims.get("postTokens")),
        reason=reason if isinstance(reason, str) else "",
        kept=kept.ids if kept else None,
        last_kept=kept.last if kept and kept.ids is None else "",
        keeps_before=kept.before if kept else False,
        removed=kept.removed if kept else frozenset(),
    )


def _line(fields: Fields) -> str:
    content = fields.content if fields.type == "system" else None
    named = (fields.type, fields.subtype, (fields.attachment or {}).get("type"), content)
    return " ".join(each for each in named if isinstance(each, str))


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53
    return int(value) if is_count else None
