"""Write a session as an export of opencode's, or a context as one that it continues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Final

from eventstore.harnesses.opencode.sent import encoded
from eventstore.harnesses.opencode.session_records import (
    KEEPS_BEFORE,
    VERSION,
    Json,
    fields_of,
    record_of,
    text,
    time_of,
)
from eventstore.harnesses.resumable import (
    Resumable,
    ResumableMessage,
    ResumableSummary,
    Seal,
    Written,
    name_of_block,
    seal_of,
    with_results,
)
from eventstore.imports import observed_rewrites
from eventstore.javascript import tolerant_json
from eventstore.log import Snapshot
from eventstore.paths import events
from eventstore.views import Block, Image, Payload, Text, Thinking, ToolCall


def export_document(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    """Yield the export of a session.

    What refold appended is in its field `refold`, which opencode ignores.
    """
    info: Json = {}
    infos, parts, others = dict[str, Json](), dict[str, dict[str, Json]](), list[Json]()
    changed = observed_rewrites(snapshot, session)
    for each in events(snapshot, session):
        if each.format not in (VERSION, KEEPS_BEFORE):
            if each.is_entry:
                record = tolerant_json(each.body)
                others.append({"id": each.id, "kind": each.kind, "format": each.format, "record": record})
            continue
        found = record_of(changed.get(each.seq, [each.body])[-1])
        info = found.session or info
        message, part = found.removed
        if message:
            if part:
                parts.get(message, {}).pop(part, None)
            else:
                infos.pop(message, None)
        elif found.message:
            infos[found.message] = found.info
            for place, one in enumerate((*found.parts, *filter(None, (found.asked,)))):
                own = parts.setdefault(text(one.get("messageID")) or found.message, {})
                own[text(one.get("id")) or f"~{place}"] = one
    yield b'{"info":%b,"messages":[' % encoded(info)
    ordered = sorted(infos.values(), key=lambda one: (time_of(one) or 0, text(one.get("id"))))
    for place, one in enumerate(ordered):
        own = parts.get(text(one.get("id")), {})
        message_parts = [own[name] for name in sorted(own)]
        yield (b"," if place else b"") + encoded({"info": one, "parts": message_parts})
    yield b"]" + (b',"refold":%b' % encoded(others) if others else b"") + b"}"


_RELEASE: Final = "1.18.33"
_AGENT: Final = "build"
_TOKENS: Final = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
"""opencode needs counts of each answer; the real ones stay with the source, to count once."""
_NO_MODEL: Final = "unknown"
TAKEN: Final = "tool_search"
"""A tool of Codex, whose calls OpenAI's library takes for the API's own, without words."""
RENAMED: Final = f"names of calls to {TAKEN!r}"


def written(resumable: Resumable) -> Written:
    """Return an export for a context.

    opencode takes what a compaction keeps from above its question, and sends it behind the summary.
    """
    document = _Document(resumable)
    messages = list(document.messages())
    whole = encoded({"info": document.info, "messages": messages})
    return Written([whole], document.lost)


class _Document:
    """The messages of an export: their ids ascend, and are below those that opencode makes."""

    def __init__(self, resumable: Resumable) -> None:
        self.lost: Counter[str] = Counter()
        self._resumable = resumable
        self._count, self._time = 0, 0
        self._session = f"ses_{sha256(resumable.key).hexdigest()[:26]}"
        self._asked, self._folder = "", resumable.folder or "/"
        self._results: Mapping[str, ResumableMessage] = {}
        """Those of the current answer's calls."""

    @property
    def info(self) -> Json:
        made, messages = self._resumable, self._resumable.messages
        times = {"created": messages[0].time if messages else made.time, "updated": made.time}
        named = {"id": self._session, "slug": "refold", "projectID": "global", "directory": self._folder}
        return {**named, "title": made.title or made.source, "version": _RELEASE, "time": times}

    def messages(self) -> Iterator[Json]:
        """Yield what a compaction kept, the compaction, and what followed it."""
        said = with_results(self._resumable.messages)
        kept = [each for each in said if each[0].is_kept] if self._resumable.summary else []
        made = [message for each in kept for message in self._message(*each)]
        yield from made
        if summary := self._resumable.summary:
            yield from self._compaction(summary, made[0]["info"]["id"] if made else "")
        for each in said[len(kept) :]:
            yield from self._message(*each)

    def _compaction(self, summary: ResumableSummary, tail: str) -> Iterator[Json]:
        asks = {"type": "compaction", "auto": False, **({"tail_start_id": tail} if tail else {})}
        yield self._asking(summary.time, [asks])
        named = {"summary": True, "mode": "compaction", "agent": "compaction", "finish": "stop"}
        yield self._answering(summary.time, [{"type": "text", "text": summary.text}], named)

    def _message(self, message: ResumableMessage, results: Mapping[str, ResumableMessage]) -> Iterator[Json]:
        self._results = results
        is_answer, blocks = message.view.role == "assistant", self._thought_by(message)
        make = self._of_answer if is_answer else self._of_user
        parts = [part for block, payload in blocks for part in self._made(make(block, payload), block)]
        if parts and is_answer:
            has_calls = any(part["type"] == "tool" for part in parts)
            named = {"mode": _AGENT, "agent": _AGENT, "finish": "tool-calls" if has_calls else "stop"}
            yield self._answering(message.time, parts, named | self._author(message))
        elif parts:
            yield self._asking(message.time, parts)

    def _author(self, message: ResumableMessage) -> Json:
        view = message.view
        return {"providerID": view.provider, "modelID": view.model} if view.model else self._model

    def _thought_by(self, message: ResumableMessage) -> list[tuple[Block, Payload]]:
        """Return a message's blocks, without thoughts that opencode would send as texts."""
        blocks = [*message.blocks]
        if self._author(message) == self._model:
            return blocks
        kept = [each for each in blocks if not isinstance(each[0], Thinking)]
        if len(kept) < len(blocks):
            self.lost["thoughts of other models"] += len(blocks) - len(kept)
        return kept

    def _made(self, part: Json, block: Block) -> Iterable[Json]:
        self.lost.update([] if part else [name_of_block(block)])
        return (part,) if part else ()

    def _asking(self, time: int, parts: list[Json]) -> Json:
        message = self._whole("user", time, parts, {"agent": _AGENT, "model": self._model})
        self._asked = message["info"]["id"]
        return message

    def _answering(self, time: int, parts: list[Json], fields: Json) -> Json:
        if not self._asked:
            self._asked = f"msg_{0:012x}{self._session[4:18]}"
        ends = {"type": "step-finish", "reason": fields["finish"], "tokens": _TOKENS, "cost": 0}
        own = {"path": {"cwd": self._folder, "root": self._folder}, "cost": 0, "tokens": _TOKENS}
        fields = {"parentID": self._asked, **own, **self._model, **fields}
        return self._whole("assistant", time, [{"type": "step-start"}, *parts, ends], fields)

    @property
    def _model(self) -> Json:
        used = self._resumable
        return {"providerID": used.provider or _NO_MODEL, "modelID": used.model or _NO_MODEL}

    def _whole(self, role: str, time: int, parts: list[Json], fields: Json) -> Json:
        """Return a message; its time is not before that of the one above, which opencode sorts by."""
        self._time = max(self._time, time)
        times = {"created": self._time, **({"completed": self._time} if role == "assistant" else {})}
        named = {"id": self._id("msg"), "sessionID": self._session}
        of = {"sessionID": self._session, "messageID": named["id"]}
        info = {**named, "role": role, "time": times, **fields}
        return {"info": info, "parts": [self._part(part, of) for part in parts]}

    def _part(self, part: Json, of: Json) -> Json:
        """Return a part with its ids; files of results have ids, too."""
        state = part.get("state", {})
        if files := state.get("attachments"):
            part = {**part, "state": {**state, "attachments": [self._part(each, of) for each in files]}}
        return {"id": self._id("prt"), **of, **part}

    def _id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count:012x}{self._session[4:18]}"

    def _of_user(self, block: Block, payload: Payload) -> Json:
        if isinstance(block, Text):
            return {"type": "text", "text": block.text}
        return _file(block, payload)

    def _of_answer(self, block: Block, payload: Payload) -> Json:
        times = {"start": self._time, "end": self._time}
        if isinstance(block, Text):
            return {"type": "text", "text": block.text, "time": times}
        if isinstance(block, Thinking):
            return {"type": "reasoning", "text": block.text, "time": times, "metadata": _seal(block, payload)}
        if isinstance(block, ToolCall):
            name, state = block.name, self._state(block, times)
            if name == TAKEN:
                name = f"{TAKEN}_call"
                self.lost[RENAMED] += 1
            return {"type": "tool", "tool": name, "callID": block.id, "state": state}
        return {}

    def _state(self, call: ToolCall, times: Json) -> Json:
        """Return the state of a call: what it returned, or that it waits."""
        given = call.decoded if isinstance(call.decoded, dict) else {"input": call.decoded}
        result = self._results.get(call.id)
        if result is None:
            return {"status": "pending", "input": given, "raw": ""}
        text = "\n".join(block.text for block in result.view.blocks if isinstance(block, Text))
        others = [(block, payload) for block, payload in result.blocks if not isinstance(block, Text)]
        if result.view.is_error:
            self.lost.update(name_of_block(block) for block, _ in others)
            return {"status": "error", "input": given, "error": text, "time": times}
        files = [file for block, payload in others for file in self._made(_file(block, payload), block)]
        done = {"status": "completed", "input": given, "output": text, "title": call.name, "metadata": {}}
        return {**done, "time": times, **({"attachments": files} if files else {})}


def _file(block: Block, payload: Payload) -> Json:
    """Return an image as a file; {} for another block."""
    if not isinstance(block, Image) or not payload.image:
        return {}
    return {"type": "file", "mime": block.mime, "url": f"data:{block.mime};base64,{payload.image}"}


def _seal(thought: Thinking, payload: Payload) -> Json:
    """Return a thought's seal, where the provider's own library looks for it."""
    seal = seal_of(thought)
    if seal is Seal.CHAT:
        return {}
    if seal is Seal.RESPONSES:
        item = fields_of(thought.signature.encode("utf-8", "replace"))
        sealed = {"itemId": item.get("id"), "reasoningEncryptedContent": item.get("encrypted_content")}
        return {"openai": sealed}
    if payload.is_redacted:
        return {"anthropic": {"redactedData": thought.signature}}
    return {"anthropic": {"signature": thought.signature}}
