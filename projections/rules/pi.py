"""The rules of pi: how it builds a context from a path, and what of it it sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.event import Event, Flag
from eventstore.harnesses import node_of
from eventstore.javascript import stringify, tolerant_decoder, tolerant_json
from eventstore.log import Snapshot
from eventstore.node import ContentReplacement, PromptView
from eventstore.paths import LazyEvent, event, path_of_kinds
from eventstore.records import TextReplacement
from projections.rules.base import Rules, Selection, select_kept_run


class _Fields(msgspec.Struct, frozen=True):
    summary: Raw | UnsetType = UNSET
    tokensBefore: Raw | UnsetType = UNSET  # noqa: N815  pi's names
    fromId: Raw | UnsetType = UNSET  # noqa: N815
    customType: Raw | UnsetType = UNSET  # noqa: N815
    content: Raw | UnsetType = UNSET
    display: Raw | UnsetType = UNSET
    placement: Raw | UnsetType = UNSET
    details: Raw | UnsetType = UNSET


_fields: Final = tolerant_decoder(_Fields)
_FALSY: Final = ("", None, False)
"""JSON values that are falsy in JavaScript; 0 equals False."""


def _message(role: str, fields: _Fields, names: Sequence[str], time: int | None) -> bytes:
    """Return a message built from a record's fields, unchanged; missing fields are left out."""
    parts = [b'{"role":"%s"' % role.encode()]
    for name in names:
        value = getattr(fields, name)
        if not isinstance(value, UnsetType):
            parts.append(b'"%s":%s' % (name.encode(), bytes(value)))
    parts.append(b'"timestamp":%s}' % (b"null" if time is None else b"%d" % time))
    return b",".join(parts)


def show_compaction(record: bytes, time: int | None) -> bytes:
    """Return the compaction in effect as a message; refold's records may set its placement."""
    return _message("compactionSummary", _fields(record), ("summary", "tokensBefore", "placement"), time)


def show_branch_summary(record: bytes, time: int | None) -> bytes | None:
    """Return a branch summary as a message, or nothing if the summary is empty."""
    fields = _fields(record)
    if isinstance(fields.summary, UnsetType) or tolerant_json(bytes(fields.summary)) in _FALSY:
        return None
    return _message("branchSummary", fields, ("summary", "fromId"), time)


def show_custom_message(record: bytes, time: int | None) -> bytes:
    """Return an extension's message."""
    return _message("custom", _fields(record), ("customType", "content", "display", "details"), time)


def show_mended(record: bytes, _time: int | None) -> bytes | None:
    """Return the message of a record whose text was damaged."""
    message = tolerant_json(record).get("message")
    return None if message is None else _encode(message)


def show_migrated(record: bytes, _time: int | None) -> bytes | None:
    """Return the message of an older record version, whose custom messages are hook messages."""
    message = tolerant_json(record).get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        message["role"] = "custom"
    return None if message is None else _encode(message)


def rewrite(message: bytes, shown: Sequence[TextReplacement]) -> bytes:
    """Return a message with its content, or some blocks of it, replaced by other text.

    For a command that the user ran, the output is replaced. A block that does not exist changes nothing.
    """
    decoded = tolerant_json(message)
    if decoded.get("role") in _COMMANDS:
        outputs = [change.text for change in shown if change.block is None]
        return _encode({**decoded, "output": outputs[-1]} if outputs else decoded)
    content = decoded.get("content")
    for change in shown:
        block = {"type": "text", "text": change.text}
        if isinstance(change, ContentReplacement):
            content = tolerant_json(change.content or b"null")
        elif change.block is None or (change.block == 0 and isinstance(content, str)):
            content = change.text if isinstance(content, str) else [block]
        elif isinstance(content, list) and 0 <= change.block < len(content):
            content = [*content[: change.block], block, *content[change.block + 1 :]]
    return _encode(decoded if content is None else {**decoded, "content": content})


_COMMANDS: Final = ("bashExecution", "pythonExecution")
"""Roles of messages that have an output instead of content."""


def _prompt(told: Sequence[dict[str, Any]]) -> PromptView:
    """Return what system messages say together, in order."""
    texts: list[Any] = []
    sections, tools = dict[str, Any](), dict[Any, dict[str, Any]]()
    for message in told:
        content = message.get("content")
        texts += [content] if isinstance(content, str) else [each.get("text") for each in _objects(content)]
        changed = message.get("sections")
        sections |= changed if isinstance(changed, dict) else {}
        for tool in _objects(message.get("toolsRemoved")):
            tools.pop(stringify(tool.get("name")), None)
        for tool in _objects(message.get("toolsAdded")):
            tools[stringify(tool.get("name"))] = tool
    system = "\n\n".join(text for text in (*texts, *sections.values()) if isinstance(text, str) and text)
    declared = [
        {
            "name": tool.get("name"),
            "description": tool.get("description"),
            "input_schema": tool.get("parameters"),
        }
        for tool in tools.values()
    ]
    return PromptView(system=system, tools=_encode(declared) if declared else b"")


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _encode(value: Any) -> bytes:
    return stringify(value).encode()


class PiRules(Rules):
    """The rules of pi, and of refold's own records, which have the same shape."""

    name = "pi"
    format = "pi/3"
    format_names = frozenset({"pi"})
    kinds = frozenset({"message", "branch_summary", "custom_message"})
    summarizes_unsent = True

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        """Select what a context shows; pi's compactions never list what they keep."""
        return select_kept_run(snapshot, leaf)

    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        if entry.kind == "message" and not node_of(entry).is_sent:
            return ()
        is_migrated = bool(entry.flags & Flag.MIGRATED_ROLE)
        message = (show_migrated if is_migrated else _SHOW[entry.kind])(record, entry.time)
        return () if message is None else (message,)

    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:
        edits = [change for change in shown if isinstance(change, ContentReplacement)]
        if edits and not edits[-1].content:
            return ()
        return [rewrite(message, shown) for message in messages]

    def recorded_prompt(self, snapshot: Snapshot, leaf: LazyEvent) -> PromptView:
        """Return the system prompt and tools in messages of role `system`, of pi 0.87 and later.

        Each changes some sections and tools; a compaction repeats what is in force.
        """
        since = leaf.compaction_seq
        compaction = event(snapshot, leaf.session, since).body if since else b""
        told: list[Any] = []
        if b'"systemMessage"' in compaction:
            told.append(tolerant_json(compaction).get("systemMessage"))
        later = path_of_kinds(snapshot, leaf.session, leaf.seq, {"message"}, first=since + 1 if told else 1)
        told += [tolerant_json(entry.body).get("message") for entry in later if not entry.role]
        return _prompt([message for message in told if isinstance(message, dict)])

    def placeholder(self, text: str, time: int | None) -> bytes:
        return _encode({"role": "user", "content": text, "timestamp": time})


_SHOW: Final = {
    "compaction": show_compaction,
    "message": show_mended,
    "branch_summary": show_branch_summary,
    "custom_message": show_custom_message,
}


RULES: Final = PiRules()
