"""Decode one record of a Claude Code session: its kind, its id and what the log indexes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal, TypeGuard

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.estimates import estimates
from eventstore.event import EventFacts, Flag
from eventstore.formats.claude_code.api_message import (
    NO_MODEL,
    MeasuredMessage,
    content_of,
    measure,
    split,
    split_views,
    view_of,
    wire_of,
)
from eventstore.formats.claude_code.attachments import attachment_text
from eventstore.formats.names import is_name, stored_id
from eventstore.javascript import (
    DEEPEST_RECORD,
    is_deeper,
    is_utf8,
    stringify,
    tolerant_decoder,
    tolerant_json,
)
from eventstore.kinds import CODE_OF_KIND
from eventstore.node import ResultReplacement, TitleRank, TitleView
from eventstore.records import TextReplacement
from eventstore.views import Message, Text

VERSION: Final = "claude-code/1"
"""The format of the records in frames."""
CLEARED: Final = "[Old tool result content cleared]"
"""Sent by Claude Code in place of a cleared tool output; the record names only the output."""
_NO_MODEL: Final = NO_MODEL.encode()
_LARGEST_ESTIMATE: Final = 0xFFFFFFFF
_ECHO: Final = re.compile(
    r"\s*(?:<(?:command-(?:name|message|args)|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)"
    r"|task-notification|system-reminder|user-memory-input|tick|teammate-message|channel-message)\b"
    r"|\[Request interrupted by user|Operation stopped by hook: |Caveat: The messages below)"
)
"""Beginnings of texts that the harness wrote in the user's name."""
_VERSION_NUMBER: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_RENDERS: Final = (2, 1, 288)
"""A version from which on every attachment that is sent says its text."""
_REWRITES_WITHOUT_ID: Final = frozenset({"content-replacement", "marble-origami-commit"})
_NOTES: Final = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attribution-snapshot",
        "bridge-session",
        "continued-in",
        "cost-state",
        "custom-title",
        "failed",
        "file-history-delta",
        "file-history-snapshot",
        "fork-context-ref",
        "frame-link",
        "history-suppression",
        "isolation-latch",
        "last-prompt",
        "launched",
        "marble-origami-snapshot",
        "mode",
        "permission-mode",
        "pr-link",
        "queue-operation",
        "relocated",
        "result",
        "speculation-accept",
        "started",
        "summary",
        "tag",
        "task-summary",
        "worktree-state",
    }
)
"""The types of metadata, including the journals of workflows."""
_ARTIFACT: Final = "artifact-"
"""The beginning of further types of metadata."""


class Fields(msgspec.Struct, frozen=True, dict=True):
    """The fields that refold reads, of any type of record; all others stay in the stored bytes."""

    type: Any = None
    subtype: Any = None
    uuid: Any = UNSET
    parentUuid: Any = UNSET  # noqa: N815  Claude Code's names
    logicalParentUuid: Any = None  # noqa: N815
    sessionId: Any = None  # noqa: N815
    cwd: Any = None
    timestamp: Any = None
    version: Any = None
    isSidechain: Any = None  # noqa: N815
    agentId: Any = None  # noqa: N815
    isMeta: Any = None  # noqa: N815
    isCompactSummary: Any = None  # noqa: N815
    isApiErrorMessage: Any = None  # noqa: N815
    ownNote: Any = None  # noqa: N815
    message: Raw | UnsetType = UNSET
    attachment: Any = None
    rendered: Any = None
    renderedRole: Any = None  # noqa: N815
    renderedBesideToolResult: Any = None  # noqa: N815
    content: Any = None
    messageCount: Any = None  # noqa: N815
    compactMetadata: Any = None  # noqa: N815
    microcompactMetadata: Any = None  # noqa: N815
    snipMetadata: Any = None  # noqa: N815
    retractedMessageUuids: Any = None  # noqa: N815
    replacements: Any = None
    summary: Any = None
    leafUuid: Any = None  # noqa: N815
    customTitle: Any = None  # noqa: N815
    aiTitle: Any = None  # noqa: N815
    summaryContent: Any = None  # noqa: N815
    firstArchivedUuid: Any = None  # noqa: N815
    lastArchivedUuid: Any = None  # noqa: N815
    parentSessionId: Any = None  # noqa: N815
    parentLastUuid: Any = None  # noqa: N815
    toolUseResult: Raw | UnsetType = UNSET  # noqa: N815
    sourceToolAssistantUUID: Any = None  # noqa: N815

    @cached_property
    def is_chained(self) -> bool:
        """True if the record has an id and a place in the tree, even if its parent is missing."""
        is_placed = not isinstance(self.parentUuid, UnsetType) or (
            isinstance(self.type, str) and self.type in _KINDS
        )
        return isinstance(self.uuid, str) and is_name(self.uuid) and is_placed

    @cached_property
    def raw_message(self) -> bytes:
        """The JSON of the message, b"" if the record has none."""
        return b"" if isinstance(self.message, UnsetType) else bytes(self.message)

    @cached_property
    def measured(self) -> MeasuredMessage | None:
        """The measured message, None if `views` must be read."""
        return measure(self.raw_message)

    @cached_property
    def views(self) -> list[Message]:
        """The views of the messages that a record's message is split into."""
        return split_views(self.raw_message)

    @cached_property
    def attached(self) -> Sequence[bytes]:
        """The JSON of each content that an attachment sends to the model.

        Since about version 2.1.286 the record has it word for word, if it is text.
        """
        if isinstance(self.rendered, list):
            return [_printed(each["content"]) for each in self.rendered if _has_content(each)]
        # Such a version sends no attachment without `rendered`.
        if self.renderedRole is None and (version_of(self.version) or ()) >= _RENDERS:
            return ()
        text = attachment_text(self.attachment) if isinstance(self.attachment, dict) else None
        return () if text is None else (_printed(text),)

    @property
    def agent(self) -> str:
        """The agent that a call started, as its result says; "" for none."""
        raw = b"" if isinstance(self.toolUseResult, UnsetType) else bytes(self.toolUseResult)
        result = tolerant_json(raw) if b'"agentId"' in raw else None
        agent = result.get("agentId") if isinstance(result, dict) else None
        return agent if isinstance(agent, str) and is_name(agent) else ""


fields_of: Final = tolerant_decoder(Fields)


def _printed(value: Any) -> bytes:
    return stringify(value).encode("utf-8", "replace")


def _has_content(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, str) or (
        isinstance(content, list) and all(isinstance(block, dict) for block in content)
    )


def version_of(version: Any) -> tuple[int, ...] | None:
    """Return the numbers of a version, None if it has none."""
    found = _VERSION_NUMBER.match(version) if isinstance(version, str) else None
    return tuple(map(int, found.groups())) if found else None


class PlainMessage(msgspec.Struct, frozen=True, gc=False):
    """The fields of an ordinary message's record."""

    type: Literal["user", "assistant"]
    uuid: str
    parentUuid: str | None  # noqa: N815
    message: Raw
    timestamp: str = ""
    isSidechain: bool = False  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    toolUseResult: Raw = Raw()  # noqa: N815


_decode_plain: Final = msgspec.json.Decoder(PlainMessage).decode
_MARKS: Final = {"user": b'"agentId"', "assistant": b'"prompt"'}
"""Marks of a message that starts an agent, in its result or its call."""


def plain_message(record: bytes) -> tuple[PlainMessage, EventFacts] | None:
    """Return a message's fields and facts; None for other records, and for messages of agents.

    The facts are those of `facts_of`.
    """
    try:
        fields = _decode_plain(record)
        raw = bytes(fields.message)
        measured = measure(raw)
        if measured is None or fields.isCompactSummary or fields.isApiErrorMessage or _NO_MODEL in raw:
            return None
        if not record.isascii():
            record.decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    role = measured.role
    if role == "user" and not _is_by_person(fields.isMeta, role, measured.first_text):
        return None
    may_start_agent = _MARKS[fields.type] in (raw if role == "assistant" else bytes(fields.toolUseResult))
    is_of_type = (role == "assistant") == (fields.type == "assistant")
    # Each level of nesting takes two bytes outside of texts.
    may_be_deep = len(record) - measured.size.text_bytes > 2 * DEEPEST_RECORD
    if may_start_agent or not is_of_type or (may_be_deep and is_deeper(record, DEEPEST_RECORD)):
        return None
    flags = int(Flag.SETS_MODEL) if role == "assistant" else 0
    return fields, _facts_of(role, _span(record, raw), flags, measured.size.estimates)


def kind_of(fields: Fields) -> str:
    """Return the kind of a record."""
    type_: str = fields.type if isinstance(fields.type, str) and is_name(fields.type) else "untyped"
    if not fields.is_chained:
        return "rewrite" if type_ in _REWRITES_WITHOUT_ID and shown_by(fields) else "note"
    if type_ in _KINDS:
        return _KINDS[type_](fields)
    return f"claude-code:{type_}" if type_ in CODE_OF_KIND else type_


def is_known_type(type_: Any) -> bool:
    """Return True for the types of records that Claude Code is known to write."""
    if not isinstance(type_, str):
        return False
    return type_ in _KINDS or type_ in _NOTES | _REWRITES_WITHOUT_ID or type_.startswith(_ARTIFACT)


def _kind_of_system(fields: Fields) -> str:
    if fields.subtype == "local_command" and isinstance(fields.content, str):
        return "custom_message"
    return "rewrite" if shown_by(fields) else "custom"


def _kind_of_user(fields: Fields) -> str:
    raw = fields.raw_message
    if not raw.startswith(b"{"):
        return "custom"
    if fields.isCompactSummary is True:
        return "compaction"
    if (measured := fields.measured) is not None:
        role, text = measured.role, measured.first_text
    else:
        role, text = fields.views[0].role, _first_text(fields.views[0])
    return "message" if role == "toolResult" or _is_by_person(fields.isMeta, role, text) else "custom_message"


_KINDS: Final[Mapping[str, Callable[[Fields], str]]] = {
    "user": _kind_of_user,
    "assistant": lambda fields: "message" if fields.raw_message.startswith(b"{") else "custom",
    "system": _kind_of_system,
    "attachment": lambda fields: "custom_message" if fields.attached else "custom",
    "progress": lambda _: "custom",
}
"""Map the types of records in the tree to their kinds; an unknown type becomes its own kind."""


def by_person(fields: Fields, message: Message) -> bool:
    """Return True if a human wrote a user message, rather than the harness or a parent agent."""
    return _is_by_person(fields.isMeta, message.role, _first_text(message))


def _first_text(message: Message) -> str:
    return next((block.text for block in message.blocks if isinstance(block, Text)), "")


def _is_by_person(is_meta: Any, role: str, text: str) -> bool:
    return is_meta is not True and role == "user" and _ECHO.match(text) is None


def shown_by(fields: Fields) -> tuple[TextReplacement, ...]:
    """Return the replacements that a record makes in earlier ones."""
    return tuple(_all_shown(fields))


def _all_shown(fields: Fields) -> Iterator[TextReplacement]:
    if fields.type == "content-replacement":
        for each in fields.replacements if isinstance(fields.replacements, list) else ():
            replaced = each if isinstance(each, dict) else {}
            call, text = replaced.get("toolUseId"), replaced.get("replacement")
            if isinstance(call, str) and isinstance(text, str):
                yield ResultReplacement(call=call, text=text)
    elif fields.type == "marble-origami-commit":
        first, last, text = fields.firstArchivedUuid, fields.lastArchivedUuid, fields.summaryContent
        if first and isinstance(first, str) and last and isinstance(last, str) and isinstance(text, str):
            yield TextReplacement(target=first, through=last, text=text)
    elif not is_boundary(fields):
        for call in _names(fields.microcompactMetadata, "compactedToolIds"):
            yield ResultReplacement(call=call, text=CLEARED)
        for name in (*_texts(fields.retractedMessageUuids), *_names(fields.snipMetadata, "removedUuids")):
            yield TextReplacement(target=name, text="")


def _names(metadata: Any, name: str) -> list[str]:
    return _texts(metadata.get(name)) if isinstance(metadata, dict) else []


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str) and each] if isinstance(value, list) else []


class KeptMessages(msgspec.Struct, frozen=True):
    """The messages that a compaction keeps, by its boundary.

    Either `ids` lists them, or they are the run from `first` to `last`. `before` means before the summary. `removed`
    are the ids that the boundary takes out again; `ids` is without them.
    """

    ids: tuple[str, ...] | None
    first: str
    last: str
    before: bool
    removed: frozenset[str] = frozenset()


def kept_by(boundary: Fields) -> KeptMessages | None:
    """Return the messages that a compaction keeps, None for none. A list overrides a run."""
    metadata = boundary.compactMetadata if isinstance(boundary.compactMetadata, dict) else {}
    listed, run = metadata.get("preservedMessages"), metadata.get("preservedSegment")
    removed = frozenset(_names(boundary.snipMetadata, "removedUuids"))
    if isinstance(listed, dict) and (ids := _texts(listed.get("uuids"))):
        left = tuple(each for each in ids if each not in removed)
        is_before = listed.get("anchorUuid") == boundary.uuid
        return KeptMessages(left, ids[0], ids[-1], before=is_before, removed=removed)
    if isinstance(run, dict):
        first, last = run.get("headUuid"), run.get("tailUuid")
        if isinstance(first, str) and isinstance(last, str) and first and last:
            is_before = run.get("anchorUuid") == boundary.uuid
            return KeptMessages(None, first, last, before=is_before, removed=removed)
    return None


def is_boundary(fields: Fields) -> bool:
    """Return True if a record marks a compaction; the summary is in a record after it."""
    return bool(fields.type == "system" and fields.subtype == "compact_boundary")


def custom_text(fields: Fields) -> bytes:
    """Return the JSON of the content of a `custom_message` record, all its messages together."""
    contents = _contents(fields)
    if len(contents) == 1:
        return contents[0]
    blocks = [
        b'{"type":"text","text":%s}' % each if each.startswith(b'"') else each[1:-1] for each in contents
    ]
    return b"[%s]" % b",".join(filter(None, blocks))


def _contents(fields: Fields) -> Sequence[bytes]:
    if fields.type == "attachment":
        return fields.attached or (b'""',)
    if fields.type == "system":
        return (_printed(fields.content),)
    content = content_of(wire_of(fields.raw_message))
    return (_as_reminder(content) if fields.ownNote is True else content,)


def _as_reminder(content: bytes) -> bytes:
    """Wrap the texts of a note in the harness's own name as it does when it sends them."""
    decoded = tolerant_json(content)
    if isinstance(decoded, str):
        return _printed(_REMINDER % decoded)
    return _printed(
        [
            {**block, "text": _REMINDER % block["text"]} if isinstance(block.get("text"), str) else block
            for block in decoded
        ]
        if _has_content({"content": decoded})
        else decoded
    )


_REMINDER: Final = "<system-reminder>\n%s\n</system-reminder>"


def shown_messages(kind: str, record: bytes) -> Sequence[bytes]:
    """Return the messages that a record sends to the model, as a context shows them."""
    fields = fields_of(record)
    if kind == "message":
        return () if _is_unsent(fields) else split(fields.raw_message)
    if kind == "custom_message":
        if fields.type != "attachment" or not isinstance(fields.rendered, list):
            return (_custom_message(fields),)
        beside = b"true" if fields.renderedBesideToolResult is True else b"false"
        return [
            b'%b%d,"besideResult":%s,"content":%s}' % (RENDERED, place, beside, each)
            for place, each in enumerate(fields.attached)
        ]
    return (fields.raw_message,) if kind == "compaction" else ()


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


def _is_unsent(fields: Fields) -> bool:
    """Return True for a message that the harness shows but never sends."""
    if fields.isApiErrorMessage is True:
        return True
    is_made_up = fields.type == "assistant" and _NO_MODEL in fields.raw_message
    return is_made_up and bool(wire_of(fields.raw_message).model == NO_MODEL)


def _custom_message(fields: Fields) -> bytes:
    return b'{"role":"user","isMeta":true,"content":%s}' % custom_text(fields)


_TITLES: Final = {
    ("custom-title", "customTitle"): TitleRank.PERSON,
    ("ai-title", "aiTitle"): TitleRank.MODEL,
    ("summary", "summary"): TitleRank.SUMMARY,
}
"""The types and fields of records that hold a session's title, with the title's rank."""


def _is_id(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and is_name(value)


def title_of(fields: Fields) -> TitleView | None:
    """Return the title that a record gives its session."""
    for (named, field), rank in _TITLES.items():
        text = getattr(fields, field) if fields.type == named else None
        if isinstance(text, str) and (title := text.strip()):
            leaf = fields.leafUuid
            about = stored_id(leaf) if rank is TitleRank.SUMMARY and _is_id(leaf) else ""
            return TitleView(text=title, rank=rank, about=about)
    return None


def facts_of(kind: str, record: bytes, fields: Fields, parent: Fields | None = None) -> EventFacts:
    """Return what the log indexes of a record; `parent` is the record above a compaction."""
    flags = 0 if is_utf8(record) else Flag.REPLACED_TEXT
    if kind == "compaction":
        text = view_of(fields.raw_message)
        view = Message(role="compactionSummary", blocks=text.blocks)
        kept = kept_by(parent) if parent is not None and is_boundary(parent) else None
        return _facts(view, (0, 0), flags, kept.first if kept else None)
    if kind not in ("message", "custom_message"):
        return EventFacts(flags=flags | Flag.GIVES_TITLE if title_of(fields) else flags)
    if kind == "message" and _is_unsent(fields):
        return EventFacts(role="assistant", flags=flags)
    if kind == "message" and (measured := fields.measured) is not None:
        role, estimated = measured.role, measured.size.estimates
        span = (0, 0) if flags else _span(record, fields.raw_message)
        return _facts_of(role, span, flags | Flag.SETS_MODEL if role == "assistant" else flags, estimated)
    views = fields.views if kind == "message" else [view_of(_custom_message(fields))]
    span = (0, 0)
    if kind == "message" and len(views) == 1 and not flags:
        span = _span(record, fields.raw_message)
    if views[0].role == "assistant":
        flags |= Flag.SETS_MODEL
    together = views[0]
    if len(views) > 1:
        blocks = tuple(block for view in views for block in view.blocks)
        together = msgspec.structs.replace(together, blocks=blocks)
    return _facts(together, span, flags, None)


def _facts(view: Message, span: tuple[int, int], flags: int, target: str | None) -> EventFacts:
    return _facts_of(view.role, span, flags, estimates(view.role, view.blocks), target)


def _facts_of(
    role: str, span: tuple[int, int], flags: int, estimated: tuple[int, int], target: str | None = None
) -> EventFacts:
    utf16, utf8 = estimated
    return EventFacts(
        role=role,
        message=span,
        utf16=min(utf16, _LARGEST_ESTIMATE),
        utf8=min(utf8, _LARGEST_ESTIMATE),
        target=target,
        flags=flags,
    )


def _span(record: bytes, raw: bytes) -> tuple[int, int]:
    """Return the span of a message's bytes in its record; any span with equal bytes will do."""
    start = record.find(b'"message":') + len(b'"message":')
    if not record.startswith(raw, start):
        start = record.find(raw)
    return (start, start + len(raw)) if start >= 0 else (0, 0)
