"""The rules of oh-my-pi 18 (`buildSessionContext`): how it builds a request from a path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.harnesses.encrypted import tokens_of_encrypted
from eventstore.harnesses.oh_my_pi.dialect import REQUEST_TYPES, native_provider
from eventstore.harnesses.oh_my_pi.snapcompact import history_blocks
from eventstore.javascript import stringify, tolerant_json
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, behind, event, path, path_of_kinds, upward
from projections.context.parts import Part
from projections.rules.base import Gap, Selection, select_kept_run
from projections.rules.pi import PiRules

_HIDDEN_TYPES: Final = ("prewalk-plan", "vibe-mode-context")
"""Types of extension messages that are not sent to the model."""
_NOTES: Final = "experimental_context_notes"
_INTERRUPTED: Final = "interrupted-thinking"
"""The type of a message after an answer interrupted while thinking; it keeps the answer."""
_BROKEN: Final = ("aborted", "error")
_MAYBE_SENT: Final = "whether the interrupted answer was sent"
"""oh-my-pi sends it until it reads its session again."""
_BLOB: Final = "blob:sha256:"
_PRUNED: Final = "prunedAt"
"""The field of a result that was rewritten in the file; earlier contexts had all of it."""

Json = dict[str, Any]


class OhMyPiRules(PiRules):
    """pi's rules, with boundaries, provider-made compactions, and failed turns left out."""

    name = "oh-my-pi"
    format = "oh-my-pi/3"
    arranges = True
    arranged_by = frozenset()

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        """Select the entries after a boundary, or those that a compaction keeps."""
        since = leaf.compaction_seq + 1
        boundaries = path_of_kinds(snapshot, leaf.session, leaf.seq, {"reset_boundary"}, first=since)
        if found := [entry.seq for entry in boundaries]:
            return Selection(first=found[-1] + 1)
        selected = select_kept_run(snapshot, leaf)
        compaction = selected.compaction
        if compaction is None or compaction.is_own:
            return selected
        fields = _decoded(compaction.body)
        preserved = _object(fields.get("preserveData"))
        through = fields.get("providerReplayThroughEntryId")
        is_replaced = _replacement(preserved) is not None
        first_kept = selected.first
        if is_replaced or (_replay(preserved) is not None and fields.get("firstKeptEntryId") == ""):
            behind = _place(snapshot, compaction, through)
            selected = Selection(first=(behind or compaction.seq) + 1, compaction=compaction)
        if _object(fields.get("details")).get("kind") == "experimental-context-rollover":
            return self._with_request(snapshot, compaction, selected, first_kept)
        return selected

    def _with_request(
        self, snapshot: Snapshot, compaction: LazyEvent, selected: Selection, first_kept: int
    ) -> Selection:
        """Add the newest request above a compaction if it comes before entry `first_kept`.

        That is the compaction's first kept entry, whether a provider replaces the kept entries or not.
        """
        for entry in upward(snapshot, compaction.session, compaction.parent_seq):
            if entry.kind == "reset_boundary":
                break
            if not _is_request(entry):
                continue
            if first_kept >= compaction.seq or entry.seq >= first_kept:
                break
            kept = path(snapshot, compaction.session, compaction.parent_seq, first=selected.first)
            return Selection(
                first=min(entry.seq, selected.first),
                compaction=compaction,
                kept=frozenset({entry.id, *(each.id for each in kept)}),
            )
        return selected

    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        if entry.kind == "compaction":
            return (_message("compactionSummary", _summary(_decoded(record)), entry.time),)
        if entry.kind != "custom_message":
            return super().show(entry, record)
        fields = _decoded(record)
        content = fields.get("content")
        if fields.get("customType") in _HIDDEN_TYPES or not isinstance(content, str | list):
            return ()
        custom_type = fields.get("customType")
        normal: Json = {
            "customType": custom_type if isinstance(custom_type, str) and custom_type else "custom-message",
            "content": content,
            "display": fields.get("display") is True,
        }
        if "details" in fields:
            normal["details"] = fields["details"]
        if "attribution" in fields:
            normal["attribution"] = "user" if fields["attribution"] == "user" else "agent"
        return (_message("custom", normal, entry.time),)

    def arrange(self, snapshot: Snapshot, leaf: LazyEvent, parts: Sequence[Part]) -> Sequence[Part]:
        """Return the parts as oh-my-pi sends them.

        Answers without content that failed are left out, and those that a retry replaced; then calls that nothing
        answers; then answers that failed, and the results of their calls. Images that were kept apart are put back.
        """
        kept = [part for part in parts if part.role != "assistant" or not _is_retried(part.raw)]
        kept = _without_broken(_without_dangling_calls(kept))
        if kept and kept[0].kind == "compaction":
            kept[0] = _dated(snapshot, leaf, kept[0])
        return [_with_blobs(snapshot, part) for part in kept]

    def settled(self, snapshot: Snapshot, parts: Sequence[Part]) -> int:  # noqa: ARG002  others ask it
        """Return the index of the newest request or answer after all results of earlier calls.

        A failed answer also waits for the next part, which may be the note that keeps it. A call with the id of an
        earlier one is answered by that one's result, so it moves the index back to before that result.
        """
        results: dict[Any, list[int]] = {}
        for place, part in enumerate(parts):
            if part.role == "toolResult":
                results.setdefault(_answered(part), []).append(place)
        settled, newest_result, is_failed = [0], 0, False
        for place, part in enumerate(parts):
            if part.role in ("user", "assistant") and newest_result < place and not is_failed:
                settled.append(place)
            if part.role not in ("assistant", "toolResult"):
                is_failed = False
            elif part.role == "assistant" and not _is_retried(part.raw):
                turn = _turn(part.raw)
                calls = turn.calls
                for call in calls:
                    # A damaged id waits for the end of the parts.
                    places = results.get(call, [0 if isinstance(call, str) else len(parts)])
                    newest_result = max(newest_result, places[-1])
                    while place > places[0] and settled[-1] > places[0]:
                        settled.pop()
                may_go = bool(calls) and calls.isdisjoint(results)
                is_failed = turn.stopReason in _BROKEN or (is_failed and may_go)
        return settled[-1]

    def links(self, part: Part) -> frozenset[Any]:
        if part.role == "toolResult":
            return frozenset({_answered(part)})
        return frozenset(_turn(part.raw).calls if part.role == "assistant" else ())

    def gaps(self, snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterable[Gap]:
        broken: LazyEvent | None = None
        for entry in entries:
            if broken is not None and entry.role:
                # A note behind an answer keeps it in contexts.
                if _decoded(entry.body).get("customType") != _INTERRUPTED:
                    yield Gap(what=_MAYBE_SENT, event=broken.id, seq=broken.seq)
                broken = None
            if entry.role == "assistant" and _is_interrupted(entry.body):
                broken = entry
            view = node_of(entry).compaction if entry.kind == "compaction" else None
            if view and view.native:
                items = _decoded(entry.body)["preserveData"]["openaiRemoteCompaction"]["replacementHistory"]
                sealed = sum(map(tokens_of_encrypted, map(_object, items)))
                what = f"history in a form that only {view.native} can read"
                yield Gap(what=what, event=entry.id, seq=entry.seq, tokens=sealed or None)
            for what in _unknown(snapshot, entry):
                yield Gap(what=what, event=entry.id, seq=entry.seq)


def _is_interrupted(body: bytes) -> bool:
    """Return True for an answer that was interrupted after it said something."""
    message = _object(_decoded(body).get("message")) if b'"aborted"' in body else {}
    return message.get("stopReason") == "aborted" and any(map(_says_something, _blocks(message)))


def _unknown(snapshot: Snapshot, entry: LazyEvent) -> list[str]:
    """Return the unrecorded content that an entry implies, without its size."""
    body = entry.body
    if entry.kind == "custom":
        return ["context notes"] if _NOTES.encode() in body else []
    found = []
    if _PRUNED.encode() in body and _object(_decoded(body).get("message")).get(_PRUNED):
        found.append("result as it was before oh-my-pi pruned it")
    if _BLOB.encode() in body:
        missing = [ref for ref in _references(_decoded(body)) if _blob(snapshot, entry.session, ref) is None]
        found += ["image that was not found"] * len(missing)
    return found


def _summary(fields: Json) -> Json:
    preserved = _object(fields.get("preserveData"))
    payload = _replacement(preserved) or _replay(preserved)
    shown = _some(fields, "summary", "shortSummary", "tokensBefore", "tokensAfter", "method")
    if payload is not None:
        shown["providerPayload"] = payload
    if blocks := history_blocks(preserved):
        shown["blocks"] = blocks
        if images := [block for block in blocks if block["type"] == "image"]:
            shown["images"] = images
    return shown | _some(fields, "warning")


def _message(role: str, fields: Json, time: int | None) -> bytes:
    return _encode({"role": role, **fields, "timestamp": time})


def _some(fields: Json, *names: str) -> Json:
    return {name: fields[name] for name in names if name in fields}


def _decoded(raw: bytes) -> Json:
    return _object(tolerant_json(raw))


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _encode(value: Json) -> bytes:
    return stringify(value).encode()


def _is_named(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _replacement(preserved: Json) -> Json | None:
    """Return a provider's replacement for the compacted history, as oh-my-pi sends it."""
    provider = native_provider(preserved)
    if not provider:
        return None
    items = preserved["openaiRemoteCompaction"]["replacementHistory"]
    return {"type": "openaiResponsesHistory", "provider": provider, "items": items}


def _replay(preserved: Json) -> Json | None:
    """Return the summary that a provider made itself, as oh-my-pi sends it."""
    found = _object(preserved.get("anthropicCompaction"))
    if not _is_named(found.get("provider")) or not _is_named(found.get("content")):
        return None
    optional = {name: found[name] for name in ("encryptedContent", "filesText") if _is_named(found.get(name))}
    return {
        "type": "anthropicCompaction",
        "provider": found["provider"],
        "content": found["content"],
        **optional,
    }


def _place(snapshot: Snapshot, compaction: LazyEvent, name: Any) -> int:
    """Return the number of the entry above a compaction with an id, 0 if the path has none."""
    seq = snapshot.locate(compaction.session, name) if _is_named(name) else 0
    if not seq or seq >= compaction.seq:
        return 0
    above = path(snapshot, compaction.session, compaction.parent_seq, first=seq)
    return seq if any(entry.seq == seq for entry in above) else 0


def _is_request(entry: LazyEvent) -> bool:
    if entry.kind == "message" and entry.role == "user":
        return True
    fields = _decoded(entry.body)
    if entry.kind == "message" and entry.role == "custom":
        fields = _object(fields.get("message"))
    elif entry.kind != "custom_message":
        return False
    return fields.get("customType") in REQUEST_TYPES and fields.get("attribution") == "user"


class _Block(msgspec.Struct, frozen=True, gc=False):
    type: Any = None
    id: Any = None


class _Turn(msgspec.Struct, frozen=True, gc=False):
    """The fields of an answer or a result that decide whether it is sent."""

    content: list[_Block] | str | None = None
    stopReason: Any = None  # noqa: N815  pi's names
    retryRecovery: Any = None  # noqa: N815
    toolCallId: Any = None  # noqa: N815
    customType: Any = None  # noqa: N815

    @property
    def calls(self) -> set[Any]:
        """The ids of its calls."""
        blocks = self.content if isinstance(self.content, list) else ()
        return {_comparable(block.id) for block in blocks if block.type == "toolCall"}


_decode_turn: Final = msgspec.json.Decoder(_Turn).decode


def _turn(raw: bytes) -> _Turn:
    try:
        return _decode_turn(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        fields = _decoded(raw)
        blocks = [_Block(block.get("type"), block.get("id")) for block in _blocks(fields)]
        names = ("stopReason", "retryRecovery", "toolCallId", "customType")
        return _Turn(content=blocks, **_some(fields, *names))


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _is_retried(raw: bytes) -> bool:
    turn = _turn(raw)
    if turn.retryRecovery:
        return True
    return turn.stopReason == "error" and not any(map(_says_something, _blocks(_decoded(raw))))


def _says_something(block: Json) -> bool:
    names = _TEXTS_OF.get(_comparable(block.get("type")))
    return names is None or any(block[name].strip() for name in names if isinstance(block.get(name), str))


_TEXTS_OF: Final[dict[Any, tuple[str, ...]]] = {
    "text": ("text",),
    "thinking": ("thinking", "thinkingSignature"),
    "redactedThinking": ("data",),
    "fallback": (),
}
"""The content fields by block type; a block of any other type always has content."""


def _without_dangling_calls(parts: list[Part]) -> list[Part]:
    """Drop calls without a result in any part, and turns that have nothing left.

    Thinking in a shortened turn loses its signatures, because the provider signed the whole turn.
    """
    answered = {_answered(part) for part in parts if part.role == "toolResult"}
    found = []
    for part in parts:
        if part.role != "assistant" or _turn(part.raw).calls <= answered:
            found.append(part)
            continue
        message = _decoded(part.raw)
        left = [
            _unsigned(block)
            for block in _blocks(message)
            if block.get("type") != "redactedThinking"
            and (block.get("type") != "toolCall" or _comparable(block.get("id")) in answered)
        ]
        if left:
            found.append(part.rewritten_as(_encode({**message, "content": left})))
    return found


def _answered(part: Part) -> Any:
    return _comparable(_turn(part.raw).toolCallId)


def _comparable(value: Any) -> Any:
    """Return an id as a dictionary key; a damaged one (an object or a list) equals no other."""
    return object() if isinstance(value, dict | list) else value


def _unsigned(block: Json) -> Json:
    if block.get("type") != "thinking" or not block.get("thinkingSignature"):
        return block
    return {name: value for name, value in block.items() if name != "thinkingSignature"}


def _without_broken(parts: list[Part]) -> list[Part]:
    """Drop answers that failed or were interrupted, and the results of their calls.

    An answer stays if the part behind it, after those that are dropped, is the note that keeps it.
    """
    answers = {place: _turn(part.raw) for place, part in enumerate(parts) if part.role == "assistant"}
    broken = {place: turn.calls for place, turn in answers.items() if turn.stopReason in _BROKEN}
    if not broken:
        return parts
    results = {place: _answered(part) for place, part in enumerate(parts) if part.role == "toolResult"}
    customs = {place: _turn(part.raw) for place, part in enumerate(parts) if part.role == "custom"}
    called: dict[Any, int] = {}
    """The place of the first dropped answer with a call."""

    def is_dropped(place: int) -> bool:
        return place in results and called.get(results[place], place) < place

    kept: list[int] = []
    for place in reversed(range(len(parts))):
        if place in broken:
            while kept and is_dropped(kept[-1]):
                kept.pop()
            behind = customs.get(kept[-1]) if kept else None
            if behind is None or behind.customType != _INTERRUPTED:
                called |= dict.fromkeys(broken[place], place)
                continue
        kept.append(place)
    return [parts[place] for place in reversed(kept) if not is_dropped(place)]


def _dated(snapshot: Snapshot, leaf: LazyEvent, part: Part) -> Part:
    """Return a replayed summary with the time from which the history counts as rewritten.

    That time is before the first kept entry, so that signatures after it stay valid.
    """
    if part.kind != "compaction" or b'"providerPayload"' not in part.raw:
        return part
    compaction = event(snapshot, part.session, part.seq)
    message, fields = _decoded(part.raw), _decoded(compaction.body)
    is_replayed = _replay(_object(fields.get("preserveData"))) is not None
    time = _retained_since(snapshot, leaf, compaction, fields) if is_replayed else None
    if time is None:
        return part
    timestamp = message.pop("timestamp", None)
    raw = _encode({**message, "historyRewriteAt": time - 1, "timestamp": timestamp})
    return msgspec.structs.replace(part, raw=raw)


def _retained_since(snapshot: Snapshot, leaf: LazyEvent, compaction: LazyEvent, fields: Json) -> int | None:
    """Return the time of the first entry that a compaction keeps, or that comes behind it."""
    session = compaction.session
    if seq := _place(snapshot, compaction, fields.get("firstKeptEntryId")):
        return event(snapshot, session, seq).time
    if fields.get("firstKeptEntryId") == "":
        through = _place(snapshot, compaction, fields.get("providerReplayThroughEntryId"))
        above = behind(snapshot, session, compaction.parent_seq, through) if through else iter(())
        if (first := next(above, None)) is not None:
            return first.time
    following = behind(snapshot, session, leaf.seq, compaction.seq)
    return next((entry.time for entry in following), None)


def _with_blobs(snapshot: Snapshot, part: Part) -> Part:
    """Return a part with its separately stored images, as far as the import found them."""
    if _BLOB.encode() not in part.raw:
        return part
    message = _decoded(part.raw)
    found = {ref: data for ref in _references(message) if (data := _blob(snapshot, part.session, ref))}
    if not found:
        return part
    return msgspec.structs.replace(part, raw=_encode(_replaced(message, found)))


def _references(value: Any) -> list[str]:
    """Return the references to blobs in a value."""
    if isinstance(value, str):
        return [value] if value.startswith(_BLOB) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [ref for each in inner for ref in _references(each)]


def _replaced(value: Any, found: dict[str, str]) -> Any:
    if isinstance(value, str):
        return found.get(value, value)
    if isinstance(value, dict):
        return {name: _replaced(each, found) for name, each in value.items()}
    return [_replaced(each, found) for each in value] if isinstance(value, list) else value


def _blob(snapshot: Snapshot, session: str, ref: str) -> str | None:
    """Return a reference's text; None if the import did not find its file."""
    seq = snapshot.locate(session, f"blob-{ref.removeprefix(_BLOB)}")
    data = _decoded(event(snapshot, session, seq).body).get("data") if seq else None
    return data if isinstance(data, str) else None


RULES: Final = OhMyPiRules()
