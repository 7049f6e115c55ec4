"""Read the requests that Claude Code records itself, since about version 2.1.282.

A shape is the system prompt and the tools; a blob is one message; a request names its shape and its messages by
hash: the first `keep` of its base, then its `tail`. A message of the assistant has no blob: it is in the records of the
answer. Any of them may be missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from hashlib import sha256
from typing import Any, Final, TypeGuard

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.harnesses.claude_code.api_message import content_of, items_of, wire_of
from eventstore.javascript import stringify, tolerant_decoder, tolerant_json
from eventstore.node import PromptView

MARK: Final = b'"api-request'
"""In every record that this module reads."""


class _Record(msgspec.Struct, frozen=True):
    type: Any = None
    id: Any = None
    hash: Any = None
    message: Raw | UnsetType = UNSET
    shapeHash: Any = None  # noqa: N815  Claude Code's names
    shape: Any = None
    base: Any = None
    keep: Any = None
    tail: Any = None
    params: Any = None
    cacheControl: Any = None  # noqa: N815
    requestDigest: Any = None  # noqa: N815


class _Answer(msgspec.Struct, frozen=True):
    requestRef: Any = None  # noqa: N815
    message: Raw | UnsetType = UNSET


_record_of: Final = tolerant_decoder(_Record)
_answer_of: Final = tolerant_decoder(_Answer)


class ApiRequest(msgspec.Struct, frozen=True):
    """A recorded request.

    `is_reproduced` says if its parts give its own digest, None if one is missing.
    """

    hashes: tuple[str, ...]
    is_reproduced: bool | None = None


class ApiRequests:
    """Collect the recorded requests of a session, its messages by hash, and its answers."""

    def __init__(self, notes: Iterable[bytes], answers: Iterable[tuple[int, bytes]]) -> None:
        self.requests: dict[str, ApiRequest] = {}
        self.messages: dict[str, bytes] = {}
        self.answers: dict[str, int] = {}
        """The number of the first record that answers a request, by the request's id."""
        self._shapes: dict[str, dict[str, Any]] = {}
        records = [_record_of(note) for note in notes if MARK in note]
        if any(each.type == "api-request" for each in records):
            self._read_answers(answers)
        for each in records:
            if each.type == "api-request-blob" and isinstance(each.hash, str) and _is_object(each.message):
                self.messages[each.hash] = bytes(each.message)
            elif (
                each.type == "api-request-shape"
                and isinstance(each.shapeHash, str)
                and isinstance(each.shape, dict)
            ):
                self._shapes[each.shapeHash] = each.shape
        for each in records:
            if each.type == "api-request" and isinstance(each.id, str):
                self._read_request(each.id, each)

    def _read_answers(self, answers: Iterable[tuple[int, bytes]]) -> None:
        blocks: dict[str, list[bytes]] = {}
        for seq, record in answers:
            answer = _answer_of(record)
            if isinstance(answer.requestRef, str):
                self.answers.setdefault(answer.requestRef, seq)
            if isinstance(answer.message, UnsetType):
                continue
            wire = wire_of(bytes(answer.message))
            if isinstance(wire.id, str):
                blocks.setdefault(wire.id, []).extend(items_of(content_of(wire)))
        for content in blocks.values():
            message = b'{"role":"assistant","content":[%s]}' % b",".join(content)
            self.messages[message_hash(message)] = message

    def _read_request(self, name: str, record: _Record) -> None:
        hashes: tuple[Any, ...] = tuple(record.tail) if isinstance(record.tail, list) else ()
        if record.base is not None:
            base = self.requests.get(record.base) if isinstance(record.base, str) else None
            if base is None or not isinstance(record.keep, int):
                return
            hashes = base.hashes[: record.keep] + hashes
        if all(isinstance(each, str) for each in hashes):
            shape = record.shapeHash if isinstance(record.shapeHash, str) else ""
            request = ApiRequest(hashes, self._is_reproduced(hashes, shape, record))
            self.requests[name] = request

    def _is_reproduced(self, hashes: tuple[str, ...], shape: str, record: _Record) -> bool | None:
        """Return True if a request's parts give its digest, None if one is missing."""
        if (
            shape not in self._shapes
            or not isinstance(record.params, dict)
            or not isinstance(record.requestDigest, str)
            or not all(each in self.messages for each in hashes)
        ):
            return None
        messages = [_normal(self.messages[each]) for each in hashes]
        # Copied, so that marks of one request do not show in the next.
        body = {**record.params, **deepcopy(self._shapes[shape]), "messages": messages}
        for mark in record.cacheControl if isinstance(record.cacheControl, list) else ():
            try:
                at: Any = body
                for step in mark["path"]:
                    at = at[step]
                at["cache_control"] = mark["value"]
            except (KeyError, IndexError, TypeError):
                return False
        return bool(_digest(body) == record.requestDigest)


def request_of(record: bytes) -> str:
    """Return the id of the request that an answer's record names, "" for none."""
    name = _answer_of(record).requestRef if b'"requestRef"' in record else None
    return name if isinstance(name, str) else ""


def prompt_of(request: str, notes: Iterable[bytes]) -> PromptView:
    """Return the system prompt and the tools of a request; empty if its records are missing.

    `notes` are the records before its answer, newest first.
    """
    shape = None
    for note in notes:
        record = _record_of(note) if MARK in note else None
        if record is None:
            continue
        if record.type == "api-request" and record.id == request:
            shape = record.shapeHash
        elif shape is not None and record.type == "api-request-shape" and record.shapeHash == shape:
            return _prompt(record.shape if isinstance(record.shape, dict) else {})
    return PromptView()


def _prompt(shape: dict[str, Any]) -> PromptView:
    system, tools = shape.get("system"), shape.get("tools")
    blocks = system if isinstance(system, list) else [{"text": system}]
    texts = [each.get("text") for each in blocks if isinstance(each, dict)]
    return PromptView(
        system="\n\n".join(text for text in texts if isinstance(text, str)),
        tools=stringify(tools).encode("utf-8", "replace") if isinstance(tools, list) and tools else b"",
    )


def words_around(notice: bytes, note: bytes) -> bytes | None:
    """Return a notice as a recorded request has it; None if `note` is another record.

    That is b"" if the note is the request itself, so that its messages, which come before it, lack the notice.
    """
    record = _record_of(note) if MARK in note else None
    if record is None:
        return None
    if record.type == "api-request":
        return b""
    if record.type != "api-request-blob" or not _is_object(record.message):
        return None
    message = tolerant_json(notice)
    said = message.get("content")
    blocks = _normal(bytes(record.message))["content"]
    texts = (
        [each.get("text") for each in blocks if isinstance(each, dict)] if isinstance(blocks, list) else []
    )
    around = (text for text in texts if isinstance(text, str) and isinstance(said, str) and said in text)
    text = next(around, None)
    return (
        None
        if text is None
        else stringify({**message, "content": text.rstrip("\n")}).encode("utf-8", "replace")
    )


def message_hash(message: bytes) -> str:
    """Return the hash by which Claude Code names a message: role and content, as blocks."""
    return _digest(_normal(message))


def _normal(message: bytes) -> dict[str, Any]:
    wire = tolerant_json(message)
    content = wire.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"role": wire.get("role"), "content": blocks}


def _digest(value: Any) -> str:
    printed = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sha256(printed.encode("utf-8", "surrogatepass")).hexdigest()


def _is_object(message: Raw | UnsetType) -> TypeGuard[Raw]:
    return not isinstance(message, UnsetType) and bytes(message).startswith(b"{")
