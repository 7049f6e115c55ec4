"""Decode one record of a Claude Code session, and say what it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw

from eventstore.estimates import estimates
from eventstore.event import Absent, EventFacts, Flag, KeptMessages, Place
from eventstore.formats.claude_code.api_message import (
    NO_MODEL,
    PROVIDER,
    Content,
    WireMessage,
    blocks_of,
    content_of,
    contents_of,
    split,
    view_of_content,
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
from eventstore.node import CompactionView, Node, ResultReplacement, SettingsView, TitleRank, TitleView
from eventstore.records import TextReplacement
from eventstore.views import Block, Extension, Message, Text

T = TypeVar("T")

VERSION: Final = "claude-code/1"
"""The format of the records in frames."""
CLEARED: Final = "[Old tool result content cleared]"
"""Sent by Claude Code in place of a cleared tool output; the record names only the output."""
_LARGEST_ESTIMATE: Final = 0xFFFFFFFF
_SETS_MODEL, _GIVES_TITLE, _REPLACED_TEXT = map(int, (Flag.SETS_MODEL, Flag.GIVES_TITLE, Flag.REPLACED_TEXT))
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


class _once(Generic[T]):  # noqa: N801  a decorator
    """Like `cached_property`, without the lock that it takes in Python 3.11."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make

    def __get__(self, fields: Any, _: type) -> T:
        made = fields.__dict__[self._make.__name__] = self._make(fields)
        return made


class Fields(msgspec.Struct, frozen=True, dict=True):
    """The fields that refold reads, of any type of record; all others stay in the stored bytes."""

    type: str | None = None
    subtype: str | None = None
    uuid: str = ""
    parentUuid: Any = UNSET  # noqa: N815  Claude Code's names
    logicalParentUuid: str | None = None  # noqa: N815
    sessionId: str | None = None  # noqa: N815
    cwd: str | None = None
    timestamp: Any = None
    version: str | None = None
    isSidechain: bool | None = None  # noqa: N815
    agentId: str = ""  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    ownNote: bool | None = None  # noqa: N815
    message: Raw = Raw()
    attachment: dict[str, Any] | None = None
    rendered: list[Any] | None = None
    renderedRole: Any = None  # noqa: N815
    renderedBesideToolResult: bool | None = None  # noqa: N815
    content: Any = None
    messageCount: int | None = None  # noqa: N815
    compactMetadata: dict[str, Any] | None = None  # noqa: N815
    microcompactMetadata: dict[str, Any] | None = None  # noqa: N815
    snipMetadata: dict[str, Any] | None = None  # noqa: N815
    retractedMessageUuids: list[Any] | None = None  # noqa: N815
    replacements: list[Any] | None = None
    summary: str | None = None
    leafUuid: str | None = None  # noqa: N815
    customTitle: str | None = None  # noqa: N815
    aiTitle: str | None = None  # noqa: N815
    summaryContent: str | None = None  # noqa: N815
    firstArchivedUuid: str | None = None  # noqa: N815
    lastArchivedUuid: str | None = None  # noqa: N815
    parentSessionId: str | None = None  # noqa: N815
    parentLastUuid: str | None = None  # noqa: N815
    toolUseResult: Raw = Raw()  # noqa: N815
    sourceToolAssistantUUID: str | None = None  # noqa: N815

    @_once
    def is_chained(self) -> bool:
        """Return True if the record has an id and a place in the tree, though perhaps no parent."""
        is_placed = self.parentUuid is not UNSET or self.type in _KINDS
        return is_name(self.uuid) and is_placed

    @property
    def raw_message(self) -> bytes:
        """The JSON of the message, b"" if the record has none."""
        return bytes(self.message)

    @_once
    def wire(self) -> WireMessage:
        """Return the fields of the message."""
        return wire_of(self.raw_message)

    @_once
    def contents(self) -> Sequence[Content]:
        """Return the contents of the messages that a record's message is split into."""
        return contents_of(self.raw_message, self.wire)

    @property
    def is_by_person(self) -> bool:
        """True if a human wrote a user's message, not the harness or a parent agent."""
        return any(
            each.role == "user" and _ECHO.match(each.first_text) is None for each in self.contents
        ) and (self.isMeta is not True and self.isSidechain is not True)

    @property
    def is_unsent(self) -> bool:
        """True for a message that the harness shows but never sends."""
        if self.isApiErrorMessage is True:
            return True
        return self.type == "assistant" and self.wire.model == NO_MODEL

    @_once
    def attached(self) -> Sequence[str | list[Any]]:
        """Return each content, a text or blocks, that an attachment sends to the model.

        Since about version 2.1.286 the record has it word for word, if it is text.
        """
        if self.rendered is not None:
            return [each["content"] for each in self.rendered if _has_content(each)]
        # Such a version sends no attachment without `rendered`.
        if self.renderedRole is None and (version_of(self.version) or ()) >= _RENDERS:
            return ()
        text = attachment_text(self.attachment) if self.attachment is not None else None
        return () if text is None else (text,)

    @property
    def agent(self) -> str:
        """The agent that a call started, as its result says; "" for none."""
        raw = bytes(self.toolUseResult)
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


def version_of(version: str | None) -> tuple[int, ...] | None:
    """Return the numbers of a version, None if it has none."""
    found = _VERSION_NUMBER.match(version or "")
    return tuple(map(int, found.groups())) if found else None


_MAY_START_AGENT: Final = {"user": b'"agentId"', "assistant": b'"prompt"'}
"""Marks of a message that starts an agent, in its result or its call."""


def plain_message(record: bytes) -> tuple[Fields, EventFacts] | None:
    """Return an ordinary message's fields and facts; None for others, and if it starts an agent."""
    if b'"type":"user"' not in record and b'"type":"assistant"' not in record:
        return None
    try:
        fields = _decode(record)
        mark = _MAY_START_AGENT.get(fields.type or "")
        if mark is None or not isinstance(fields.parentUuid, str | None) or kind_of(fields) != "message":
            return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if mark in (fields.raw_message if fields.type == "assistant" else bytes(fields.toolUseResult)):
        return None
    # Each level of nesting takes two bytes.
    if len(record) > 2 * DEEPEST_RECORD and is_deeper(record, DEEPEST_RECORD):
        return None
    facts = facts_of("message", record, fields)
    return None if facts.flags & _REPLACED_TEXT else (fields, facts)


_decode: Final = msgspec.json.Decoder(Fields).decode


def kind_of(fields: Fields) -> str:
    """Return the kind of a record."""
    type_ = fields.type if fields.type is not None and is_name(fields.type) else "untyped"
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
    if not fields.raw_message.startswith(b"{"):
        return "custom"
    if fields.isCompactSummary is True:
        return "compaction"
    first = fields.contents[0]
    is_harness_s = first.role != "toolResult" and (
        fields.isMeta is True or first.role != "user" or _ECHO.match(first.first_text) is not None
    )
    return "custom_message" if is_harness_s else "message"


_KINDS: Final[Mapping[str, Callable[[Fields], str]]] = {
    "user": _kind_of_user,
    "assistant": lambda fields: "message" if fields.raw_message.startswith(b"{") else "custom",
    "system": _kind_of_system,
    "attachment": lambda fields: "custom_message" if fields.attached else "custom",
    "progress": lambda _: "custom",
}
"""Map the types of records in the tree to their kinds; an unknown type becomes its own kind."""


def shown_by(fields: Fields) -> tuple[TextReplacement, ...]:
    """Return the replacements that a record makes in earlier ones."""
    return tuple(_all_shown(fields))


def _all_shown(fields: Fields) -> Iterator[TextReplacement]:
    if fields.type == "content-replacement":
        for each in fields.replacements or ():
            replaced = each if isinstance(each, dict) else {}
            call, text = replaced.get("toolUseId"), replaced.get("replacement")
            if isinstance(call, str) and isinstance(text, str):
                yield ResultReplacement(call=call, text=text)
    elif fields.type == "marble-origami-commit":
        first, last, text = fields.firstArchivedUuid, fields.lastArchivedUuid, fields.summaryContent
        if first and last and text is not None:
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


def kept_by(boundary: Fields) -> KeptMessages | None:
    """Return the messages that a compaction keeps, None for none. A list overrides a run."""
    metadata = boundary.compactMetadata or {}
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
    return fields.type == "system" and fields.subtype == "compact_boundary"


PLAIN: Final = Place(absent=Absent.PREVIOUS)
"""The place of a record that only names its parent."""
_BESIDE: Final = Place(absent=Absent.PREVIOUS, continues=True, stands_in=True)
"""The place of a rewrite without an id, below the newest record."""


def place_of(event_id: str, fields: Fields, kind: str) -> tuple[str | None, Place]:
    """Return the id of the parent that a record names, and the rest that says its place."""
    if not fields.is_chained:
        leaf = fields.leafUuid if fields.type == "last-prompt" else None
        moves_to = stored_id(leaf) if leaf is not None and is_name(leaf) else ""
        if kind == "note":
            return None, Place(absent=Absent.PREVIOUS, moves_to=moves_to) if moves_to else PLAIN
        return None, _BESIDE
    is_start = is_boundary(fields)
    parent = fields.logicalParentUuid if is_start and fields.parentUuid is None else fields.parentUuid
    named = stored_id(fields.uuid)
    is_taken = named != event_id
    # A parent that is no id, or not even there, is missing; no later record has it.
    above = stored_id(parent) if isinstance(parent, str) and is_name(parent) else None
    is_odd = above is None and parent is not None
    if not (is_start or is_taken or is_odd):
        return above, PLAIN
    place = Place(
        absent=Absent.PREVIOUS,
        continues=is_start or is_odd,
        named=named if is_taken else "",
        is_boundary=is_start,
        kept=_stored(kept_by(fields)) if is_start else None,
    )
    return above, place


def _stored(kept: KeptMessages | None) -> KeptMessages | None:
    """Return kept messages by their ids in the log."""
    if kept is None:
        return None
    ids = None if kept.ids is None else tuple(map(stored_id, kept.ids))
    return msgspec.structs.replace(kept, ids=ids, first=stored_id(kept.first), last=stored_id(kept.last))


def _custom_content(fields: Fields) -> bytes:
    """Return the JSON of a `custom_message` record's content; of a rendered one, the first."""
    if fields.type == "attachment":
        return _printed(fields.attached[0] if fields.attached else "")
    if fields.type == "system":
        return _printed(fields.content)
    content = content_of(fields.wire)
    return _as_reminder(content) if fields.ownNote is True else content


def _custom_blocks(fields: Fields) -> tuple[Block, ...]:
    """Return the blocks of a `custom_message` record, of all its messages together."""
    if fields.type != "attachment":
        return blocks_of(_custom_content(fields))
    blocks = list[Block]()
    for content in fields.attached or ("",):
        if isinstance(content, str):
            blocks.append(Text(content))
        else:
            blocks += blocks_of(_printed(content))
    return tuple(blocks)


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
        return () if fields.is_unsent else split(fields.raw_message, fields.wire)
    if kind == "custom_message":
        if fields.type != "attachment" or fields.rendered is None:
            return (b'{"role":"user","isMeta":true,"content":%s}' % _custom_content(fields),)
        beside = b"true" if fields.renderedBesideToolResult is True else b"false"
        return [
            b'%b%d,"besideResult":%s,"content":%s}' % (RENDERED, place, beside, _printed(each))
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


def facts_of(kind: str, record: bytes, fields: Fields) -> EventFacts:
    """Return what the log indexes of a record."""
    flags = 0 if is_utf8(record) else _REPLACED_TEXT
    if kind not in ("message", "custom_message", "compaction"):
        return EventFacts(flags=flags | _GIVES_TITLE if title_of(fields) else flags)
    if kind == "message" and fields.is_unsent:
        return EventFacts(role="assistant", flags=flags)
    contents = _contents_of(kind, fields)
    role = contents[0].role
    if role == "assistant":
        flags |= _SETS_MODEL
    is_as_stored = kind == "message" and len(contents) == 1 and not flags & _REPLACED_TEXT
    blocks = contents[0].blocks
    if len(contents) > 1:
        blocks = tuple(block for content in contents for block in content.blocks)
    utf16, utf8 = estimates(role, blocks)
    return EventFacts(
        role=role,
        message=_span(record, fields.raw_message) if is_as_stored else (0, 0),
        utf16=min(utf16, _LARGEST_ESTIMATE),
        utf8=min(utf8, _LARGEST_ESTIMATE),
        flags=flags,
    )


def _contents_of(kind: str, fields: Fields) -> Sequence[Content]:
    """Return the contents of the messages that a record holds or becomes."""
    if kind == "message":
        return fields.contents
    if kind == "compaction":
        return (Content("compactionSummary", fields.contents[0].blocks),)
    return (Content("custom", _custom_blocks(fields)),)


def _span(record: bytes, raw: bytes) -> tuple[int, int]:
    """Return the span of a message's bytes in its record; any span with equal bytes will do."""
    start = record.find(b'"message":') + len(b'"message":')
    if not record.startswith(raw, start):
        start = record.find(raw)
    return (start, start + len(raw)) if start >= 0 else (0, 0)


def node_of(kind: str, record: bytes, parent: bytes | None = None) -> Node:
    """Return a record's meaning; `parent` is the compaction boundary above it."""
    fields = fields_of(record)
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
    title = title_of(fields) if kind == "note" else None
    rewrites = shown_by(fields) if kind == "rewrite" else ()
    return Node(title=title, rewrites=rewrites, line=title.text if title else _line(fields), folder=folder)


def _node_of_message(fields: Fields, folder: str) -> Node:
    wire = fields.wire
    if fields.contents[0].role == "assistant" and (
        fields.isApiErrorMessage is True or wire.model == NO_MODEL
    ):
        unsent = Message(role="assistant", blocks=fields.contents[0].blocks, stop_reason="error")
        return Node(messages=(unsent,), folder=folder)
    messages = tuple(view_of_content(each, wire) for each in fields.contents)
    if messages[0].role != "assistant":
        return Node(messages=messages, by_person=fields.is_by_person, folder=folder)
    settings = SettingsView(provider=PROVIDER, model=UNSET if wire.model is None else wire.model)
    return Node(messages=messages, group=wire.id or "", settings=settings, folder=folder)


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
