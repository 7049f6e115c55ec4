"""The records that refold itself writes: one type a kind, in pi v3's shape where pi has the kind.

A record holds neither id, parent nor time: the frame does, and an export puts them in. Type names are
stable; fields with their default are left out of the JSON.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Literal

import msgspec

from eventstore.errors import BadInputError
from eventstore.javascript import TooDeepError, utf16_order

FORMAT: Final = "refold/1"


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Base of what refold writes. The class's tag is the event's kind."""

    @property
    def kind(self) -> str:
        """The kind of event that the record is the body of."""
        return str(self.__struct_config__.tag)


class FileOperations(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Paths that were read but not modified, and paths that were modified; both in UTF-16 order."""

    read_files: list[str] = []
    modified_files: list[str] = []


class FileSets(msgspec.Struct, frozen=True):
    """Paths read and paths modified; a path may be in both."""

    read: frozenset[str] = frozenset()
    modified: frozenset[str] = frozenset()

    def lists(self) -> FileOperations:
        """Read-only and modified paths, both in UTF-16 order."""
        return FileOperations(
            read_files=sorted(self.read - self.modified, key=utf16_order),
            modified_files=sorted(self.modified, key=utf16_order),
        )


class MessageRecord(Record, frozen=True, tag="message"):
    """A message in its harness's shape: `shape` names the harness, `message` is its JSON as given."""

    message: msgspec.Raw
    shape: str = "pi"
    metadata: dict[str, Any] = {}


class ModelChange(Record, frozen=True, tag="model_change"):
    """From here on, another model."""

    provider: str
    model_id: str
    role: str = ""


class ThinkingLevelChange(Record, frozen=True, tag="thinking_level_change"):
    """From here on, another thinking level."""

    thinking_level: str


class Compaction(Record, frozen=True, tag="compaction"):
    """A summary in place of the path before `first_kept_entry_id`.

    `details` are the file operations of everything summarized; `tokens_before` and `tokens_after` the
    estimated sizes of the contexts; `request` how the summary was asked for; `continuation` by which `branch`
    the session goes on, and for what `reason`. `extension_details` are what a hook gave with its summary; a pi
    export has them in `details`.
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
    """A summary of an abandoned branch. `from_id` is where the summary is attached, `left` the leaf that was left.

    `request` is how the summary was asked for, `extension_details` what a hook gave with it.
    """

    from_id: str
    summary: str
    left: str = ""
    details: FileOperations | None = None
    from_extension: bool = False
    extension_details: dict[str, Any] = {}
    request: dict[str, Any] = {}


class CustomMessage(Record, frozen=True, tag="custom_message", omit_defaults=False):
    """A message that an extension puts before the model; `display` is whether people see it, too."""

    custom_type: str
    content: str | list[Any]
    display: bool = True
    details: Any = msgspec.UNSET


class Custom(Record, frozen=True, tag="custom"):
    """An extension's state; never in a context."""

    custom_type: str
    data: Any = None


class TextReplacement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content that contexts show instead of an earlier message's content: all of it, or its block number `block`.

    With `through`, a user's message with this text stands for all messages from the target through that one.
    """

    target: str
    text: str = msgspec.field(name="shown")
    block: int | None = None
    through: str = ""


class Rewrite(Record, frozen=True, tag="rewrite"):
    """Earlier content that contexts on this branch show otherwise from here on; the entries stay as they are."""

    reason: str
    targets: list[TextReplacement]
    tokens_saved: int = 0


class LeafMoved(Record, frozen=True, tag="leaf_moved"):
    """The session went elsewhere in its tree: this entry's parent is where to, `from_id` where from."""

    from_id: str = ""


class Undone(Record, frozen=True, tag="undone"):
    """The append that `target_id` belongs to is without effect from here on."""

    target_id: str


class Label(Record, frozen=True, tag="label"):
    """A name for an entry; without one, the entry's label goes."""

    target_id: str
    label: str = ""


class SessionInfo(Record, frozen=True, tag="session_info"):
    """The session's title, and the folder that it works in."""

    name: str = ""
    cwd: str = ""


class Remark(msgspec.Struct, frozen=True):
    """Something to know of a line of a file."""

    line: int
    reason: str


class Segment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Part of a file: `records` are runs (first seq, count) of events, `glue` the payloads with the bytes between.

    `sessions` are the places of the runs' sessions in the import's list of them, from 1; 0 and no list at all are the
    import's own session.
    """

    records: list[tuple[int, int]] = []
    glue: list[str] = []
    sessions: list[int] = []


class Resume(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The place where the next import of a grown file goes on: behind its last whole line.

    `digest` is SHA-256 over the bytes before `offset`, but for those at the beginning that change in place; `state` is
    the format's own.
    """

    offset: int
    digest: str
    line: int
    state: dict[str, Any] = {}


class Import(Record, frozen=True, tag="import"):
    """One reading of a file: bytes `offset` to `size`; `digest` is SHA-256 over the file from its start.

    `records` counts the records of the whole file. `lines` holds whole lines, `tail` what followed the last
    line end. `continues` is the number of the import event that holds the bytes before `offset`, of which `head` has
    those at the file's beginning that change in place. `skipped`
    are lines, or parts of them, that hold no record or repeat one; `differs_from_harness` those of which the
    harness makes something else; `orphans` those whose parent the file does not have; `not_utf8` records with bytes
    that are no UTF-8. Of a file with several sessions, the import of the first keeps the bytes between all records:
    `sessions` are the others there, and in those `kept_by` names the first. `is_file` is false for what was read of a
    database, which has no bytes to keep: `digest` is that of its records.
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
    sessions: list[str] = []
    kept_by: str = ""
    is_file: bool = True


class Link(Record, frozen=True, tag="link"):
    """Another session that this one has to do with; `relation` says in which way.

    This one is a `fork`, a `subagent`, a later `generation` or a `shadow` of the other, or goes on from its end
    (`parent`); `event` is the other's entry where it began. Or the other is a `child` that this one's entry
    `event` started.
    """

    relation: Literal["parent", "fork", "subagent", "shadow", "generation", "child"]
    session: str
    event: str = ""


class DecisionOutcome(StrEnum):
    """The outcome of a decision."""

    TRIGGERED = "triggered"
    PROMOTED = "promoted"
    HANDED_OFF = "handed off"
    SKIPPED = "skipped"
    NOTHING = "nothing"
    CANCELLED = "cancelled"
    NO_GAIN = "no-gain"
    STILL_TOO_LARGE = "still too large"
    FAILED = "failed"
    CIRCUIT_OPEN = "circuit open"
    HOOK_FAILED = "hook failed"


class Decision(Record, frozen=True, tag="decision"):
    """Why a policy acted or did not."""

    outcome: str
    reason: str
    policy: str = ""
    numbers: dict[str, Any] = {}


class Attempt(Record, frozen=True, tag="attempt"):
    """A request that failed, was cancelled, or whose answer came too late to be of use."""

    request: dict[str, Any]
    error: str


class Redaction(Record, frozen=True, tag="redaction"):
    """Content taken out of an event, by the digest of what stood there."""

    target_id: str
    digest: str
    reason: str = ""


class ObservedRewrite(Record, frozen=True, tag="observed_rewrite"):
    """A record that its harness changed after we had it, as it came then."""

    target_id: str
    record: msgspec.Raw


class Note(Record, frozen=True, tag="note"):
    """Metadata that has no place in the tree, as a harness kept it: it never becomes the leaf.

    `target_id` is the event that it is about, "" for none.
    """

    target_id: str = ""
    data: Any = None


RECORDS: Final[dict[str, type[Record]]] = {
    str(record.__struct_config__.tag): record for record in Record.__subclasses__()
}
"""From kinds to the records that refold writes of them."""

BOOKKEEPING: Final = frozenset({"import", "observed_rewrite"})
"""Kinds that speak of what an import has kept beside the events: imports alone write them."""

_DECODERS: Final = {kind: msgspec.json.Decoder(record) for kind, record in RECORDS.items()}
_encode: Final = msgspec.json.Encoder().encode
_decode_raw: Final = msgspec.json.Decoder(msgspec.Raw).decode


def check_record(kind: str, body: bytes) -> None:
    """Raise BadInputError where a body is not what refold's records of its kind are."""
    try:
        record = record_of(kind, body)
        if isinstance(record, MessageRecord):
            message = _decode_message(record.message)
            if message.role in _WITH_CONTENT and not isinstance(message.content, str | list):
                raise msgspec.ValidationError(
                    f"a message of role {message.role!r} needs `content`, a text or a list of blocks"
                )
    except msgspec.DecodeError as error:
        raise BadInputError(f"record of kind {kind!r}", str(error), SEE_EVENTS) from None


class _AnyMessage(msgspec.Struct, frozen=True):
    """A message of any role: its role, and for most roles content, a text or a list of blocks."""

    role: str
    content: Any = None


_WITH_CONTENT: Final = frozenset({"user", "assistant", "toolResult", "custom", "hookMessage", "developer"})
"""Roles of messages that are their content; those of others have other fields."""

_decode_message: Final = msgspec.json.Decoder(_AnyMessage).decode
SEE_EVENTS: Final = "the page on events (docs/events.md) names every field and its type"


def embed(data: bytes) -> msgspec.Raw:
    """Return a foreign JSON object as a field of a record; as a text of its bytes if a strict reader would stumble."""
    try:
        return _decode_raw(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.Raw(_encode(data.decode("latin-1")))


def embedded(raw: msgspec.Raw) -> bytes:
    """Return the JSON object that `embed` was given."""
    data = bytes(raw)
    return msgspec.json.decode(data, type=str).encode("latin-1") if data.startswith(b'"') else data


def record_of(kind: str, body: bytes | memoryview) -> Record:
    """Return the record of a body that refold wrote. Raises KeyError for a kind that it does not write."""
    try:
        return _DECODERS[kind].decode(body)
    except RecursionError:
        raise TooDeepError from None
