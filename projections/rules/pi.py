"""The rules of pi: how it builds a context from a path, and what of it it sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.event import Event, Flag
from eventstore.harnesses import node_of
from eventstore.javascript import stringify, tolerant_decoder, tolerant_json
from eventstore.log import Snapshot
from eventstore.node import ContentReplacement, PromptView, SettingsView
from eventstore.paths import LazyEvent, SnapshotCache, event, path_of_kinds
from eventstore.records import TextReplacement
from projections.rules.base import Rules, Selection, select_kept_run

if TYPE_CHECKING:
    from projections.context.parts import Part


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


_Model = tuple[str, str]
"""The names of a provider and of its model, "" for damaged ones."""
_THINKING: Final = b'"thinking"'


class _Answer(msgspec.Struct, frozen=True):
    """The fields of an answer that decide how its thinking is sent."""

    provider: Any = None
    model: Any = None
    durationMs: Any = None  # noqa: N815  pi's name


_answer: Final = tolerant_decoder(_Answer)


def _for_model(part: Part, model: _Model, *, drops: bool) -> Part | None:
    """Return a part as it is sent to a model; None if nothing of it is."""
    if part.role != "assistant" or _THINKING not in part.raw or not part.format.startswith("pi/"):
        return part
    answer = _answer(part.raw)
    if _names(answer.provider, answer.model) == model:
        return part
    message = tolerant_json(part.raw)
    content = message.get("content")
    if not isinstance(content, list):
        return part
    shown = [
        {"type": "text", "text": block["thinking"]} if _is_thinking(block) else block
        for block in content
        if not _is_thinking(block) or not (drops or block.get("redacted") or not _has_words(block))
    ]
    if shown == content:
        return part
    return (
        msgspec.structs.replace(part, raw=_encode({**message, "content": shown}), recorded=None)
        if shown
        else None
    )


def _is_thinking(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "thinking"


def _has_words(block: dict[str, Any]) -> bool:
    thinking = block.get("thinking")
    return isinstance(thinking, str) and bool(thinking.strip())


def _encode(value: Any) -> bytes:
    return stringify(value).encode()


class PiRules(Rules):
    """The rules of pi, and of refold's own records, which have the same shape."""

    name = "pi"
    format = "pi/3"
    format_names = frozenset({"pi"})
    kinds = frozenset({"message", "branch_summary", "custom_message"})
    arranged_by = frozenset({"model_change"})
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

    def is_arranged_by(self, snapshot: Snapshot, entry: Event | LazyEvent) -> bool:
        """Return True if a change of the model is to another than that of the answer above."""
        above: Event | LazyEvent | None = entry
        while above is not None and above.kind == "model_change":
            above = _model_above(snapshot, above)
        return above is not None and _model_of(above) != _model_of(entry)

    def arranges_at(self, snapshot: Snapshot, leaf: LazyEvent, first: int) -> bool:
        """Return True if a model other than the one in use thought."""
        return bool(_thinkers(snapshot, leaf, first) - {_model_in_use(snapshot, leaf)})

    def varies_by(self, snapshot: Snapshot, leaf: LazyEvent) -> tuple[_Model | None, bool]:
        """Return the model in use, and whether the release drops the thinking of others.

        That is pi 1.3 and later, whose answers say how long they took.
        """
        return _model_in_use(snapshot, leaf), _drops_thinking(snapshot, leaf)

    def arrange(self, snapshot: Snapshot, leaf: LazyEvent, parts: Sequence[Part]) -> Sequence[Part]:
        """Return the parts as pi sends them to the model: without thinking of others, or as text."""
        model, drops = self.varies_by(snapshot, leaf)
        if model is None:
            return parts
        return [sent for part in parts if (sent := _for_model(part, model, drops=drops))]

    def settled(self, snapshot: Snapshot, parts: Sequence[Part]) -> int:  # noqa: ARG002
        """Return the number of parts: each is sent alone."""
        return len(parts)

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


def _model_of(entry: Event | LazyEvent) -> _Model:
    """Return the provider and the model that an entry names."""
    return _MODELS.get(entry.digest, lambda: _read_model(entry))


def _read_model(entry: Event | LazyEvent) -> _Model:
    settings = node_of(entry).settings or SettingsView()
    return _names(settings.provider, settings.model)


_MODELS: Final = SnapshotCache[_Model]()


def _names(provider: Any, model: Any) -> _Model:
    return provider if isinstance(provider, str) else "", model if isinstance(model, str) else ""


def _model_in_use(snapshot: Snapshot, leaf: LazyEvent) -> _Model | None:
    return _model_of(event(snapshot, leaf.session, leaf.model_seq)) if leaf.model_seq else None


def _model_above(snapshot: Snapshot, entry: Event | LazyEvent) -> LazyEvent | None:
    """Return the newest entry above another that names a model."""
    above = event(snapshot, entry.session, entry.parent_seq).model_seq if entry.parent_seq else 0
    return event(snapshot, entry.session, above) if above else None


def _thinkers(snapshot: Snapshot, leaf: LazyEvent, first: int) -> frozenset[_Model]:
    """Return the models that thought from number `first` to a leaf; reads no answer twice."""
    newest = event(snapshot, leaf.session, leaf.model_seq) if leaf.model_seq else None
    late = _state_above(snapshot, leaf.session)
    state = (late, 0 if late else first)
    known, found, above = frozenset[_Model](), set[_Model](), newest
    while above is not None and above.seq >= state[1]:
        if (before := _THINKERS.find((above.digest, state))) is not None:
            known = before
            break
        if above.role == "assistant" and _THINKING in above.message:
            found.add(_model_of(above))
        above = _model_above(snapshot, above)
    return _THINKERS.get((newest.digest, state), lambda: known | found) if newest else known


def _drops_thinking(snapshot: Snapshot, leaf: LazyEvent) -> bool:
    """Return True if the newest answer of pi is of a release that drops others' thinking."""
    newest = event(snapshot, leaf.session, leaf.model_seq) if leaf.model_seq else None
    state = _state_above(snapshot, leaf.session)
    known, above = None, newest
    while above is not None and (known := _DROPS.find((above.digest, state))) is None:
        if above.role == "assistant" and not above.is_own and (message := above.message):
            known = _answer(message).durationMs is not None
            break
        above = _model_above(snapshot, above)
    return _DROPS.get((newest.digest, state), lambda: bool(known)) if newest else False


_DROPS: Final = SnapshotCache[bool]()
"""True where the release drops it, by the digest of an entry that names a model."""


def _state_above(snapshot: Snapshot, session: str) -> bytes:
    """Return a session's digest if a parent that came late may put others above an entry."""
    now = snapshot.head(session)
    return now.digest if now.is_late else b""


_THINKERS: Final = SnapshotCache[frozenset[_Model]]()
"""The models that thought at or above an entry, by its digest and where they begin."""


_SHOW: Final = {
    "compaction": show_compaction,
    "message": show_mended,
    "branch_summary": show_branch_summary,
    "custom_message": show_custom_message,
}


RULES: Final = PiRules()
