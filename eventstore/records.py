"""Define the records that refold writes: one type per kind, in pi v3's shape if pi has it.

A record has no id, parent or time: the frame has them, and an export adds them. Type names are stable; fields
with default values are omitted from the JSON.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Literal, Protocol

import msgspec

from eventstore.errors import BadInputError, CorruptionError
from eventstore.javascript import TooDeepError, utf16_order

FORMAT: Final = "refold/1"


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The base of refold's records. The class's tag is the event's kind."""

    @property
    def kind(self) -> str:
        """The kind of events with this record."""
        return str(self.__struct_config__.tag)


class FileOperations(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Paths that were only read, and paths that were modified; both in UTF-16 order."""

    read_files: list[str] = []
    modified_files: list[str] = []


class FileSets(msgspec.Struct, frozen=True):
    """Paths read and paths modified; a path may be in both."""

    read: frozenset[str] = frozenset()
    modified: frozenset[str] = frozenset()

    def __or__(self, other: FileSets) -> FileSets:
        return FileSets(self.read | other.read, self.modified | other.modified)

    def lists(self) -> FileOperations:
        """Return the read-only and the modified paths, both in UTF-16 order."""
        return FileOperations(
            read_files=sorted(self.read - self.modified, key=utf16_order),
            modified_files=sorted(self.modified, key=utf16_order),
        )


class MessageRecord(Record, frozen=True, tag="message"):
    """A message in a harness's shape: `shape` names the harness, `message` is the JSON."""

    message: msgspec.Raw
    shape: str = "pi"
    metadata: dict[str, Any] = {}


class ModelChange(Record, frozen=True, tag="model_change"):
    """Use another model from here on."""

    provider: str
    model_id: str
    role: str = ""


class ThinkingLevelChange(Record, frozen=True, tag="thinking_level_change"):
    """Use another thinking level from here on."""

    thinking_level: str


class Compaction(Record, frozen=True, tag="compaction"):
    """A summary in place of the path before `first_kept_entry_id`.

    `details` are the file operations of everything summarized. `tokens_before` and `tokens_after` are the
    contexts' estimated sizes. `request` is the record of the summary's requests. `continuation` has the
    `branch` that the continuation took, and the `reason`. `extension_details` came from a hook with its
    summary; a pi export has them in `details`.
    """

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    tokens_after: int | None = None
    short_summary: str = ""
    details: FileOperations | None = None
    placement: str = ""
    reason: str = ""
    policy: str = ""
    template: str = ""
    from_extension: bool = False
    extension_details: dict[str, Any] = {}
    preserve_data: dict[str, Any] = {}
    request: dict[str, Any] = {}
    continuation: dict[str, str] = {}


class BranchSummary(Record, frozen=True, tag="branch_summary"):
    """A summary of an abandoned branch, from leaf `left`, appended at `from_id`.

    `request` is the record of the summary's requests, `extension_details` came from a hook with its summary.
    """

    from_id: str
    summary: str
    left: str = ""
    details: FileOperations | None = None
    from_extension: bool = False
    extension_details: dict[str, Any] = {}
    request: dict[str, Any] = {}


class CustomMessage(Record, frozen=True, tag="custom_message", omit_defaults=False):
    """A message that an extension sends to the model; `display` shows it to people too."""

    custom_type: str
    content: str | list[Any]
    display: bool = True
    details: Any = msgspec.UNSET


RESTORED_FILE: Final = "restored_file"
RESTORED_PLAN: Final = "restored_plan"
"""The types of own messages that show a file, or a plan, again after a compaction."""


class Custom(Record, frozen=True, tag="custom"):
    """An extension's state; never in a context."""

    custom_type: str
    data: Any = None


class TextReplacement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Content that contexts show instead of a message's content, or of its block number `block`.

    With `call`, it replaces the result of that call, in an entry that holds more; a harness's record may leave the
    target empty: then it is every entry with that result where the rewrite takes effect. With `through`, a user's
    message with this text replaces all messages from the target through that one.
    """

    target: str
    text: str = msgspec.field(name="shown")
    block: int | None = None
    through: str = ""
    call: str = ""


class Rewrite(Record, frozen=True, tag="rewrite"):
    """Show earlier content differently from here on in this branch; the entries are unchanged."""

    reason: str
    targets: list[TextReplacement]
    tokens_saved: int = 0


class LeafMoved(Record, frozen=True, tag="leaf_moved"):
    """The session moved in its tree from `from_id` to this entry's parent."""

    from_id: str = ""


class Undone(Record, frozen=True, tag="undone"):
    """Undo the append that `target_id` belongs to, from here on."""

    target_id: str


class Label(Record, frozen=True, tag="label"):
    """An entry's label; an empty `label` removes it."""

    target_id: str
    label: str = ""


class SessionInfo(Record, frozen=True, tag="session_info"):
    """The session's title and working folder."""

    name: str = ""
    cwd: str = ""


class Remark(msgspec.Struct, frozen=True):
    """A remark on a line of a file."""

    line: int
    reason: str


class Segment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Part of a file: `records` are runs (first seq, count) of events, `glue` the bytes between.

    `glue` lists payloads. `sessions` has the place of each run's session in the import's list, from 1; 0, or
    no list at all, is the import's own session.
    """

    records: list[tuple[int, int]] = []
    glue: list[str] = []
    sessions: list[int] = []


class Resume(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The place where the next import of a grown file continues: after its last whole line.

    `digest` is SHA-256 over the bytes before `offset`, except those at the beginning that change in place.
    `state` belongs to the format.
    """

    offset: int
    digest: str
    line: int
    state: dict[str, Any] = {}


class Import(Record, frozen=True, tag="import"):
    """One reading of a file: bytes `offset` to `size`; `digest` is SHA-256 over the file so far.

    From it the file can be restored, by parts (`Segment`, `Resume`) that may change. `records` counts the records
    of the whole file, `unknown` those of each type that refold does not know. `skipped` are lines without a record
    or with a repeated one. `continues` is the number of the import event with the bytes before `offset`. Of a file
    with several `sessions`, the import of the first keeps the bytes; the others name it in `kept_by`. Of a
    database, `digest` is that of its records. `copy_of` is the session's name in the file if it was imported under
    another.
    """

    source_format: str
    header: msgspec.Raw
    records: int
    offset: int
    size: int
    digest: str
    lines: Segment
    tail: Segment
    resume: Resume
    continues: int = 0
    head: Segment = Segment()
    skipped: list[Remark] = []
    differs_from_harness: list[Remark] = []
    orphans: list[Remark] = []
    not_utf8: list[Remark] = []
    unknown: dict[str, int] = {}
    sessions: list[str] = []
    kept_by: str = ""
    is_file: bool = True
    copy_of: str = ""


class Link(Record, frozen=True, tag="link"):
    """A related session; `relation` says how it is related.

    This session is a `fork`, a `subagent`, a later `generation` or a `shadow` of the other, or continues from
    its end (`parent`); `event` is the other's entry where it began. Or the other is a `child` that this
    session's entry `event` started.
    """

    relation: Literal["parent", "fork", "subagent", "shadow", "generation", "child"]
    session: str
    event: str = ""


class Decision(Record, frozen=True, tag="decision"):
    """A policy's decision to act or not, with its reason."""

    outcome: str
    reason: str
    policy: str = ""
    numbers: dict[str, Any] = {}


class Attempt(Record, frozen=True, tag="attempt"):
    """A request that failed, was cancelled, or came too late.

    Without an error, it is an answered request of a replay.
    """

    request: dict[str, Any]
    error: str


class ObservedRewrite(Record, frozen=True, tag="observed_rewrite"):
    """A new version of a record that its harness changed after the import."""

    target_id: str
    record: msgspec.Raw


class Note(Record, frozen=True, tag="note"):
    """Metadata outside of the tree, of a harness or about a reading; never becomes the leaf.

    `target_id` is the event that it is about, "" for none.
    """

    target_id: str = ""
    data: Any = None


RECORDS: Final[dict[str, type[Record]]] = {
    str(record.__struct_config__.tag): record for record in Record.__subclasses__()
}
"""The types of refold's records by kind."""

BOOKKEEPING: Final = frozenset({"import", "observed_rewrite"})
"""Kinds about what imports store beside the events; only imports write them."""

_encode: Final = msgspec.json.Encoder().encode
_decode_raw: Final = msgspec.json.Decoder(msgspec.Raw).decode


def check_record(kind: str, body: bytes) -> None:
    """Raise BadInputError if a body is not a valid record of refold's of its kind."""
    try:
        record = _parsed(kind, body)
        if isinstance(record, MessageRecord):
            message = msgspec.json.decode(record.message, type=_AnyMessage)
            if message.role in _WITH_CONTENT and not isinstance(message.content, str | list):
                raise msgspec.ValidationError(
                    f"a message of role {message.role!r} needs `content`, a text or a list of blocks"
                )
    except msgspec.DecodeError as error:
        raise BadInputError(f"record of kind {kind!r}", str(error), SEE_EVENTS) from None


class _AnyMessage(msgspec.Struct, frozen=True):
    """A message of any role; content is a text or a list of blocks for most roles."""

    role: str
    content: Any = None


_WITH_CONTENT: Final = frozenset({"user", "assistant", "toolResult", "custom", "hookMessage", "developer"})
"""Roles of messages with `content`; the others have other fields."""

SEE_EVENTS: Final = "the page on events (docs/events.md) names every field and its type"


def embed(data: bytes) -> msgspec.Raw:
    """Return a foreign JSON object as a field, or as text if a strict parser would reject it."""
    try:
        return _decode_raw(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.Raw(_encode(data.decode("latin-1")))


def embedded(raw: msgspec.Raw) -> bytes:
    """Return the JSON object that was passed to `embed`."""
    data = bytes(raw)
    return msgspec.json.decode(data, type=str).encode("latin-1") if data.startswith(b'"') else data


class StoredRecord(Protocol):
    """An event, decoded or not, as `own_record` needs it."""

    @property
    def is_own(self) -> bool: ...

    @property
    def kind(self) -> str: ...

    @property
    def body(self) -> bytes: ...


def own_record(event: StoredRecord) -> Record | None:
    """Return the record of an event that refold wrote, None for one that came from a file.

    Whatever a file says, it is its harness's record; who wrote an event decides, not what it holds.
    """
    return record_of(event.kind, event.body) if event.is_own and event.kind in RECORDS else None


def record_of(kind: str, body: bytes | memoryview) -> Record:
    """Parse the record of a body that refold wrote.

    Raises KeyError for other kinds, CorruptionError for what refold cannot have written, TooDeepError.
    """
    try:
        return _parsed(kind, body)
    except TooDeepError:
        raise
    except msgspec.DecodeError as error:
        problem = f"a record of kind {kind!r} cannot be read ({error})"
        raise CorruptionError("", 0, problem) from error


def _parsed(kind: str, body: bytes | memoryview) -> Record:
    try:
        return _decoder(kind).decode(body)
    except RecursionError:
        raise TooDeepError from None


@cache
def _decoder(kind: str) -> msgspec.json.Decoder[Record]:
    # A command reads few kinds, and making all decoders takes longer than importing this module otherwise does.
    return msgspec.json.Decoder(RECORDS[kind])
