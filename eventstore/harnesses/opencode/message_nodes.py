"""Say what a record of opencode's means, and what a message that it sends says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from eventstore.event import Flag
from eventstore.harnesses.opencode.sent import ASKED, CLEARED, encoded, sent_messages
from eventstore.harnesses.opencode.session_records import (
    KEEPS_BEFORE,
    Json,
    Record,
    asking,
    fields,
    fields_of,
    items,
    number,
    record_of,
    text,
)
from eventstore.javascript import stringify
from eventstore.node import (
    CONTINUES,
    CompactionView,
    Node,
    RequestView,
    SettingsView,
    TitleRank,
    TitleView,
)
from eventstore.records import TextReplacement
from eventstore.views import Block, Image, Message, Opaque, Payload, Text, Thinking, ToolCall, Usage

_SEALS: Final = ("signature", "reasoningEncryptedContent", "redactedData")
"""Names of what seals a thought, by provider."""
_UNTITLED: Final = re.compile(r"(?:New|Child) session - \d{4}-")
"""The title of a session to which no model has given one."""


def node_of(version: str, kind: str, raw: bytes, parent: bytes | None = None) -> Node:
    """Return what a record means; `parent` is the record above a compaction."""
    return node_of_record(version, kind, record_of(raw), raw, parent)


def node_of_record(version: str, kind: str, record: Record, raw: bytes, parent: bytes | None = None) -> Node:
    """Return what a decoded record means; see `node_of`."""
    if kind == "note":
        return _of_note(record, raw)
    if kind == "compaction":
        return _of_compaction(version, record, parent)
    if kind == "rewrite":
        calls = (text(part.get("callID")) for part in record.parts)
        return Node(rewrites=tuple(TextReplacement(target="", call=call, text=CLEARED) for call in calls))
    if kind != "message":
        return Node(line=_line(record))
    messages = _messages(record)
    is_users = record.info.get("role") == "user"
    model = settings_of(record.info)
    return Node(
        messages=messages,
        group="" if is_users else record.message,
        by_person=is_users and _is_by_person(record.parts),
        continues=any(fields(part.get("metadata")).get(CONTINUES) is True for part in record.parts),
        settings=model,
        flags=settings_flags(model),
        folder=text(fields(record.info.get("path")).get("cwd")),
    )


def settings_of(info: Json) -> SettingsView | None:
    """Return the model that a message names, and the variant that it asks for."""
    named = fields(info.get("model")) or info
    if not text(named.get("modelID")):
        return None
    variant = text(named.get("variant")) or text(info.get("variant"))
    return SettingsView(
        provider=named.get("providerID", msgspec.UNSET),
        model=named["modelID"],
        thinking_level=variant or msgspec.UNSET,
    )


def settings_flags(settings: SettingsView | None) -> int:
    """Return the flags of a record that sets the model, or the thinking level too."""
    if settings is None:
        return 0
    return Flag.SETS_MODEL | (Flag.SETS_THINKING if settings.thinking_level is not msgspec.UNSET else 0)


def _of_note(record: Record, raw: bytes) -> Node:
    if record.session:
        title = text(record.session.get("title"))
        is_title = title and not _UNTITLED.match(title)
        return Node(
            title=TitleView(text=title, rank=TitleRank.MODEL) if is_title else None,
            folder=text(record.session.get("directory")),
        )
    about = text(fields_of(raw).get("about")) if b'"about"' in raw and not record.copied else ""
    tokens = next((part.get("tokens") for part in record.parts if part.get("type") == "step-finish"), None)
    usage = _usage(fields(tokens), next(iter(record.parts), {}).get("cost"))
    return Node(usage=usage, target=about) if about and usage else Node()


def _of_compaction(version: str, record: Record, parent: bytes | None) -> Node:
    asked = record.asked or asking(record_of(parent).parts if parent else ())
    summary = summary_of(record)
    said = record.info
    return Node(
        messages=(Message(role="compactionSummary", blocks=(Text(summary),)),),
        # The question above it names the first kept part.
        needs_source=True,
        compaction=CompactionView(
            summary=summary,
            keeps_before=version == KEEPS_BEFORE,
            reason="overflow"
            if asked.get("overflow")
            else "auto"
            if asked.get("auto")
            else "manual"
            if asked
            else "",
        ),
        requests=(
            RequestView(
                provider=text(said.get("providerID")) or None,
                model=text(said.get("modelID")) or None,
                usage=None if record.copied else _usage(fields(said.get("tokens")), said.get("cost")),
                answer=summary,
            ),
        ),
    )


def summary_of(record: Record) -> str:
    """Return the text of a summary."""
    return "".join(text(part.get("text")) for part in record.parts if part.get("type") == "text")


def shown_messages(kind: str, raw: bytes) -> list[bytes]:
    """Return the messages of a record, each with what it is `of`."""
    record = record_of(raw)
    if kind == "compaction":
        of = {"message": text(record.info.get("parentID"))}
        question: Json = {"role": "user", "content": [{"type": "text", "text": ASKED}], "of": of}
        sent = [question, *sent_messages(record)]
    else:
        sent = [*sent_messages(record)]
    return [encoded({**each, "of": msgspec.to_builtins(each["of"])}) for each in sent]


def _messages(record: Record) -> tuple[Message, ...]:
    """Return the view of a record's messages: its texts and calls as one, and each result."""
    role = "user" if record.info.get("role") == "user" else "assistant"
    blocks, results = list[Block](), list[Message]()
    for each in sent_messages(record):
        if each["role"] == role:
            blocks += map(_block, each["content"])
        else:
            results.append(view_of_fields(each))
    info = record.info
    error = fields(info.get("error"))
    aborted = error.get("name") == "MessageAbortedError"
    finish = text(info.get("finish"))
    has_usage = not record.copied and any(part.get("type") == "step-finish" for part in record.parts)
    head = Message(
        role=role,
        blocks=tuple(blocks),
        provider=text(info.get("providerID")),
        model=text(info.get("modelID")),
        stop_reason="aborted" if aborted else "error" if error else finish,
        usage=_usage(fields(info.get("tokens")), info.get("cost")) if has_usage else None,
    )
    return (head, *results)


def _is_by_person(parts: Iterable[Json]) -> bool:
    kinds = [part.get("type") for part in parts if not part.get("synthetic")]
    return "text" in kinds or "file" in kinds


def _usage(tokens: Json, cost: object) -> Usage | None:
    """Return what a provider counted; the harness counts reasoning apart from output."""
    if not tokens:
        return None
    cache = fields(tokens.get("cache"))
    counts = {
        "input": number(tokens.get("input")),
        "output": number(tokens.get("output")) + number(tokens.get("reasoning")),
        "cache_read": number(cache.get("read")),
        "cache_write": number(cache.get("write")),
    }
    is_known = isinstance(cost, int | float) and not isinstance(cost, bool)
    total = number(tokens.get("total")) or sum(counts.values())
    return Usage(**counts, total=total, cost=float(cost) if is_known and cost else None)  # type: ignore[arg-type]


def _line(record: Record) -> str:
    kinds = ", ".join(text(part.get("type")) for part in record.parts)
    return kinds or ("removed" if record.removed[0] else text(fields(record.info.get("error")).get("name")))


def view_of(raw: bytes) -> Message:
    """Return the view of a message as opencode sends it."""
    return view_of_fields(fields_of(raw))


def view_of_fields(message: Json) -> Message:
    """Return the view of a decoded message."""
    role = text(message.get("role"))
    content = message.get("content")
    if isinstance(content, str):
        return Message(role=role, blocks=(Text(content),))
    blocks = [fields(each) for each in items(content)]
    if role != "tool":
        return Message(role=role, blocks=tuple(map(_block, blocks)))
    result = next(iter(blocks), {})
    return Message(
        role="toolResult",
        blocks=tuple(map(_block, _result_blocks(result))),
        tool_call_id=text(result.get("toolCallId")),
        tool_name=text(result.get("toolName")),
        is_error=fields(result.get("output")).get("type") == "error-text",
    )


def payloads(raw: bytes) -> list[Payload]:
    """Return the contents that the view of a message omits, block by block."""
    message = fields_of(raw)
    blocks = [fields(each) for each in items(message.get("content"))]
    if message.get("role") == "tool":
        blocks = list(_result_blocks(next(iter(blocks), {})))
    return [
        Payload(
            raw=stringify(each).encode("utf-8", "replace"),
            image=text(each.get("data")) if _is_image(each) else "",
            is_redacted=bool(_seal(each, "redactedData")),
        )
        for each in blocks
    ]


def _result_blocks(result: Json) -> Iterator[Json]:
    output = fields(result.get("output"))
    value = output.get("value")
    if isinstance(value, str):
        yield {"type": "text", "text": value}
    else:
        yield from map(fields, items(value))


def _block(block: Json) -> Block:
    kind = text(block.get("type"))
    if kind == "text":
        return Text(text(block.get("text")))
    if kind == "reasoning":
        return Thinking(text(block.get("text")), _seal(block, *_SEALS))
    if kind == "tool-call":
        arguments = stringify(block.get("input", {})).encode("utf-8", "replace")
        return ToolCall(text(block.get("toolCallId")), text(block.get("toolName")), arguments)
    if _is_image(block):
        return Image(text(block.get("mediaType")), len(text(block.get("data"))))
    return Opaque(kind, len(text(block.get("data"))))


def _is_image(block: Json) -> bool:
    return block.get("type") == "file" and text(block.get("mediaType")).startswith("image/")


def _seal(block: Json, *names: str) -> str:
    """Return the first seal with one of some names that a provider put on a thought."""
    by_provider: Iterable[Any] = fields(block.get("providerOptions")).values()
    found = (text(fields(each).get(name)) for each in by_provider for name in names)
    return next(filter(None, found), "")
