"""Decode one record of a Claude Code session: its kind, its place, and what it changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from eventstore.event import Absent, KeptMessages, Place
from eventstore.harnesses.claude_code.api_message import (
    NO_MODEL,
    Content,
    MessageFields,
    contents_of,
    message_fields,
)
from eventstore.harnesses.claude_code.attachments import attachment_text
from eventstore.harnesses.lines import once
from eventstore.harnesses.names import is_name, stored_id, stored_name
from eventstore.javascript import stringify, tolerant_decoder, tolerant_json
from eventstore.kinds import CODE_OF_KIND
from eventstore.records import TextReplacement

VERSION: Final = "claude-code/1"
"""The format of the records in frames."""
CLEARED: Final = "[Old tool result content cleared]"
"""Sent by Claude Code in place of a cleared tool output; the record names only the output."""
_ECHO: Final = re.compile(
    r"\s*(?:<(?:command-(?:name|message|args)|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)"
    r"|task-notification|system-reminder|user-memory-input|tick|teammate-message|channel-message)\b"
    r"|\[Request interrupted by user|Operation stopped by hook: |Caveat: The messages below)"
)
"""Beginnings of texts that the harness wrote in the user's name."""
_VERSION_NUMBER: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
RECORDS_ATTACHMENTS: Final = (2, 1, 110)
"""The first version that records its attachments."""
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
    rowSource: str | None = None  # noqa: N815
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

    @once
    def is_chained(self) -> bool:
        """Return True if the record has an id and a place in the tree, though perhaps no parent."""
        is_placed = self.parentUuid is not UNSET or self.type in _KINDS
        return is_name(self.uuid) and is_placed

    @once
    def raw_message(self) -> bytes:
        """Return the JSON of the message, b"" if the record has none."""
        return bytes(self.message)

    @once
    def wire(self) -> MessageFields:
        """Return the fields of the message."""
        return message_fields(self.raw_message)

    @once
    def contents(self) -> Sequence[Content]:
        """Return the contents of the messages that a record's message is split into."""
        return contents_of(self.wire)

    @property
    def is_by_person(self) -> bool:
        """True if a human wrote a user's message, not the harness or a parent agent."""
        return any(
            each.role == "user" and _ECHO.match(each.first_text) is None for each in self.contents
        ) and (self.isMeta is not True and self.isSidechain is not True)

    @property
    def is_made_up(self) -> bool:
        """True for an answer that no model gave."""
        is_answer = self.contents[0].role == "assistant"
        return is_answer and (self.isApiErrorMessage is True or self.wire.model == NO_MODEL)

    @property
    def is_unsent(self) -> bool:
        """True for a message that the harness shows but never sends: an error in place of an answer."""
        return self.isApiErrorMessage is True

    @once
    def attached(self) -> Sequence[str | list[Any]]:
        """Return each content, a text or blocks, that an attachment sends to the model.

        Since about version 2.1.286 the record has it word for word, if it is text.
        """
        if self.rendered is not None:
            return [each["content"] for each in self.rendered if has_content(each)]
        # Such a version sends no attachment without `rendered`.
        if self.renderedRole is None and self._version >= _RENDERS:
            return ()
        text = attachment_text(self.attachment) if self.attachment is not None else None
        return () if text is None else (text,)

    @property
    def is_placed(self) -> bool:
        """True for an attachment of a version that moves and joins them, recorded or not."""
        return self._version >= RECORDS_ATTACHMENTS

    @once
    def _version(self) -> tuple[int, ...]:
        return version_of(self.version) or ()

    @property
    def agent(self) -> str:
        """The agent that a call started, as its result says; "" for none."""
        raw = bytes(self.toolUseResult)
        result = tolerant_json(raw) if b'"agentId"' in raw else None
        agent = result.get("agentId") if isinstance(result, dict) else None
        return agent if isinstance(agent, str) and is_name(agent) else ""


fields_of: Final = tolerant_decoder(Fields)


def printed(value: Any) -> bytes:
    """Return a decoded value as JSON."""
    return stringify(value).encode("utf-8", "replace")


def has_content(message: Any) -> bool:
    """Return True if a decoded message has a text or blocks."""
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, str) or (
        isinstance(content, list) and all(isinstance(block, dict) for block in content)
    )


def version_of(version: str | None) -> tuple[int, ...] | None:
    """Return the numbers of a version, None if it has none."""
    found = _VERSION_NUMBER.match(version or "")
    return tuple(map(int, found.groups())) if found else None


def kind_of(fields: Fields) -> str:
    """Return the kind of a record."""
    type_ = fields.type or "untyped"
    if not fields.is_chained:
        return "rewrite" if type_ in _REWRITES_WITHOUT_ID and shown_by(fields) else "note"
    if (kind := _KINDS.get(type_)) is not None:
        return kind(fields)
    if not is_name(type_):
        return "untyped"
    return f"claude-code:{type_}" if type_ in CODE_OF_KIND else type_


def is_known_type(type_: str | None) -> bool:
    """Return True for the types of records that Claude Code is known to write."""
    return type_ is not None and (type_ in KNOWN_TYPES or type_.startswith(_ARTIFACT))


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
KNOWN_TYPES: Final = _NOTES | _REWRITES_WITHOUT_ID | _KINDS.keys()


def shown_by(fields: Fields) -> tuple[TextReplacement, ...]:
    """Return the replacements that a record makes in earlier ones."""
    return tuple(_all_shown(fields))


def _all_shown(fields: Fields) -> Iterator[TextReplacement]:
    if fields.type == "content-replacement":
        for each in fields.replacements or ():
            replaced = each if isinstance(each, dict) else {}
            call, text = replaced.get("toolUseId"), replaced.get("replacement")
            if isinstance(call, str) and isinstance(text, str):
                yield TextReplacement(target="", call=call, text=text)
    elif fields.type == "marble-origami-commit":
        first, last, text = fields.firstArchivedUuid, fields.lastArchivedUuid, fields.summaryContent
        if first and last and text is not None:
            yield TextReplacement(target=first, through=last, text=text)
    elif not is_boundary(fields):
        for call in _names(fields.microcompactMetadata, "compactedToolIds"):
            yield TextReplacement(target="", call=call, text=CLEARED)
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
        moves_to = stored_name(fields.leafUuid) or "" if fields.type == "last-prompt" else ""
        if kind == "note":
            return None, Place(absent=Absent.PREVIOUS, moves_to=moves_to) if moves_to else PLAIN
        return None, _BESIDE
    is_start = is_boundary(fields)
    parent = fields.logicalParentUuid if is_start and fields.parentUuid is None else fields.parentUuid
    is_taken = event_id != fields.uuid and event_id != stored_id(fields.uuid)
    # A parent that is no id, or not even there, is missing; no later record has it.
    above = stored_name(parent)
    is_odd = above is None and parent is not None
    if not (is_start or is_taken or is_odd):
        return above, PLAIN
    place = Place(
        absent=Absent.PREVIOUS,
        continues=is_start or is_odd,
        named=stored_id(fields.uuid) if is_taken else "",
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
