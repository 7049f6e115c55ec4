"""Messages that go on after a compaction: the model is told them, and no person said them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from eventstore.event import Event
from eventstore.javascript import tolerant_json

MARK: Final = "compaction_continue"
"""What marks them: in the metadata of a message, or as the type of an extension's message."""

_FORMS: Final = (
    "[Resuming] ",
    "[Resuming — previous message",
    "[Continuing from compaction] ",
    "[Continuing task — previous message",
)
"""How those begin that harnesses write without a mark."""
WORD: Final = "continue"
"""What opencode tells its model in the middle of a task: a user's message that repeats no request."""
_MARK: Final = MARK.encode()


def is_continuation(event: Event) -> bool:
    """Whether an event goes on after a compaction.

    That is a message of the role `user` with the mark in the metadata of its record or of the message itself,
    or in one of opencode's forms, or a `custom_message` of this type.
    """
    return continues(event.kind, event.role, lambda: event.body)


def continues(kind: str, role: str, body: Callable[[], bytes]) -> bool:
    """The same, of an event's kind and role, and its record, which is asked for where those may be."""
    if kind not in ("message", "custom_message") or (kind == "message" and role != "user"):
        return False
    record = body()
    # Of all that a session says, little has to be decoded.
    if _MARK not in record and b"[Resuming" not in record and b"[Continuing" not in record:
        return False
    fields = tolerant_json(record)
    if kind == "custom_message":
        return bool(fields.get("customType") == MARK)
    message = fields.get("message")
    return _is_marked(fields) or (isinstance(message, dict) and (_is_marked(message) or _has_form(message)))


def repeats_nothing(event: Event) -> bool:
    """Whether an event is a user's message that only says to go on: no request, and so no beginning of a turn."""
    if event.kind != "message" or not is_continuation(event):
        return False
    message = tolerant_json(event.body).get("message")
    return isinstance(message, dict) and _text(message) == WORD


def _is_marked(fields: dict[str, Any]) -> bool:
    metadata = fields.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get(MARK))


def _has_form(message: dict[str, Any]) -> bool:
    return _text(message).startswith(_FORMS)


def _text(message: dict[str, Any]) -> str:
    """The first text of a message."""
    content = message.get("content")
    if isinstance(content, list):
        texts = (block.get("text") for block in content if isinstance(block, dict))
        content = next((text for text in texts if isinstance(text, str) and text), "")
    return content if isinstance(content, str) else ""
