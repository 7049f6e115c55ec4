"""opencode's: the newest request again where nobody answered it, else a word to go on."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from compaction.continuations.continuation import Continuation, Continued, Situation
from compaction.continuations.requests import has_media, unanswered_request
from eventstore.formats import view_of_message
from eventstore.javascript import stringify
from eventstore.records import MessageRecord
from projections.continuation import MARK, WORD

HAD_MEDIA: Final = "had_media"
_NO_TEXT: Final = "[Continuing task — previous message contained media attachments]"
_WITH_TEXT: Final = "[Continuing from compaction] "


def _replayed(situation: Situation) -> Continued:
    """One of opencode's three ways.

    The newest request is repeated where nobody answered it and it is not kept; with its text alone where it holds
    images or files, for they may be what made the context too large; else a word goes on. An image that was answered
    is not shown again.
    """
    request = unanswered_request(situation.before, situation.entries)
    if request is None:
        return Continued(branch="mid-task", reason="the newest request was answered", record=_said(WORD))
    message = view_of_message(request.raw)
    if has_media(message):
        text = f"{_WITH_TEXT}{message.text}" if message.text.strip() else _NO_TEXT
        return Continued(
            branch="media",
            reason=f"request {request.id} is unanswered and holds attachments",
            record=_said(text, had_media=True),
            evicts=True,
            repeats_request=True,
        )
    if request.id in situation.kept:
        return Continued(branch="unanswered", reason=f"request {request.id} is unanswered, and kept")
    record = MessageRecord(message=msgspec.Raw(request.raw), metadata={MARK: True})
    return Continued(
        branch="unanswered",
        reason=f"request {request.id} is unanswered and gone",
        record=record,
        repeats_request=True,
    )


def _said(text: str, *, had_media: bool = False) -> MessageRecord:
    metadata: dict[str, Any] = {MARK: True} | ({HAD_MEDIA: True} if had_media else {})
    message = {"role": "user", "content": text}
    return MessageRecord(message=msgspec.Raw(stringify(message).encode()), metadata=metadata)


REPLAY: Final = Continuation(
    name="replay", after=_replayed, reasons=frozenset({"overflow", "incomplete", "threshold"})
)
