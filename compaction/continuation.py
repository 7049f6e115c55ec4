"""What follows an automatic compaction, so that the agent goes on with the right thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal

import msgspec

from compaction.policies import Continuation
from eventstore.event import Event
from eventstore.formats import view_of_message
from eventstore.javascript import stringify
from eventstore.records import CustomMessage, MessageRecord
from eventstore.views import Image, Message, Opaque
from projections.context import Part
from projections.continuation import MARK, WORD, is_continuation

HAD_MEDIA: Final = "had_media"
_AGENT_SAYS: Final = "Go on with the next step of the work, unless all of it is done."
_NO_TEXT: Final = "[Continuing task — previous message contained media attachments]"
_WITH_TEXT: Final = "[Continuing from compaction] "


class Continued(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the ways was taken, and why; `record` is the message to append, None for none.

    `evicts`: images in what was kept have to give way, too.
    """

    branch: Literal["none", "auto-continue", "unanswered", "media", "mid-task"]
    reason: str
    record: MessageRecord | CustomMessage | None = None
    evicts: bool = False


def continuation(
    way: Continuation, before: Sequence[Part], kept: AbstractSet[str], *, entries: Sequence[Event]
) -> Continued:
    """What follows a compaction, by the messages `before` it, of which those in `kept` stay.

    opencode's three ways: the newest request is repeated where nobody answered it and it is not kept; with
    its text alone where it holds images or files, for they may be what made the context too large; else a
    word to go on. An image that was answered is not shown again.
    """
    if way == "none":
        return Continued(branch="none", reason="the policy continues with nothing")
    if way == "auto-continue":
        return Continued(branch="auto-continue", reason="the policy says so", record=_by_agent())
    events = {entry.seq: entry for entry in entries}
    place = _newest_request(before, events)
    if place is None or any(_is_answer(part, events) for part in before[place + 1 :]):
        return Continued(branch="mid-task", reason="the newest request was answered", record=_said(WORD))
    request = before[place]
    message = view_of_message(request.raw)
    if _has_media(message):
        text = f"{_WITH_TEXT}{message.text}" if message.text.strip() else _NO_TEXT
        return Continued(
            branch="media",
            reason=f"request {request.id} is unanswered and holds attachments",
            record=_said(text, had_media=True),
            evicts=True,
        )
    if request.id in kept:
        return Continued(branch="unanswered", reason=f"request {request.id} is unanswered, and kept")
    record = MessageRecord(message=msgspec.Raw(request.raw), metadata={MARK: True})
    return Continued(
        branch="unanswered", reason=f"request {request.id} is unanswered and gone", record=record
    )


def _is_answer(part: Part, events: Mapping[int, Event]) -> bool:
    """Whether a message is the model's, or stands for several of which the first is."""
    return part.seq in events and events[part.seq].role == "assistant"


def _newest_request(before: Sequence[Part], events: Mapping[int, Event]) -> int | None:
    """The place of the newest real message of a person: no result, no summary, no extension's, no continuation."""
    for place in range(len(before) - 1, -1, -1):
        part = before[place]
        event = events.get(part.seq)
        if event is None or event.role != "user" or part.role != "user":
            continue
        if _asks(part) and not is_continuation(event):
            return place
    return None


def _asks(part: Part) -> bool:
    """Whether a message asks for anything: one that is blank could not be sent again."""
    message = view_of_message(part.raw)
    return bool(message.text.strip()) or _has_media(message)


def _has_media(message: Message) -> bool:
    return any(isinstance(block, Image | Opaque) for block in message.blocks)


def _by_agent() -> CustomMessage:
    """A word to go on that is no person's: each harness tells its model so in its own role."""
    return CustomMessage(custom_type=MARK, content=_AGENT_SAYS, display=False)


def _said(text: str, *, had_media: bool = False) -> MessageRecord:
    metadata: dict[str, Any] = {MARK: True} | ({HAD_MEDIA: True} if had_media else {})
    message = {"role": "user", "content": text}
    return MessageRecord(message=msgspec.Raw(stringify(message).encode()), metadata=metadata)
