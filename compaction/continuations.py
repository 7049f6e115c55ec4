"""Define the messages that follow an automatic compaction, so that the agent continues.

To add one, write a `Continuation`, its name in `CONTINUATIONS`, tests and docs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from compaction.part import Reason
from eventstore.event import Event
from eventstore.harnesses import format_of, node_of
from eventstore.javascript import stringify
from eventstore.node import CONTINUES
from eventstore.records import FORMAT, CustomMessage, MessageRecord
from eventstore.views import Image, Message, Opaque
from projections.context.parts import CONTINUE_WORD, Part, view_of_part


class ContextAfter(msgspec.Struct, frozen=True, kw_only=True):
    """The messages `before` a compaction, and the ids of those `kept`.

    `entries` are the entries of `before`. `is_open` means that tool calls of the newest answer have no
    results yet.
    """

    before: Sequence[Part]
    kept: AbstractSet[str]
    entries: Sequence[Event]
    is_open: bool = False


class ContinuationPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The branch that a continuation took, why, and the message to append, None for none.

    `evicts` means that images in the kept messages are replaced too. `repeats_request` means that the record
    repeats a person's unanswered request.
    """

    branch: str
    reason: str
    record: MessageRecord | CustomMessage | None = None
    evicts: bool = False
    repeats_request: bool = False


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """A way to continue after a compaction.

    `name` is its name in policies. `after` returns what follows if no calls are open. It applies to
    `reasons`; with `only_after_turn`, only if no request is under way.
    """

    name: str
    after: Callable[[ContextAfter], ContinuationPlan]
    reasons: frozenset[Reason]
    only_after_turn: bool = False

    def following(self, situation: ContextAfter) -> ContinuationPlan:
        """Return what follows; append no message while calls are open.

        A message would come between a call and its result.
        """
        found = self.after(situation)
        if not situation.is_open or found.record is None:
            return found
        return msgspec.structs.replace(
            found, reason=f"{found.reason}, but calls have no results yet", record=None
        )

    def is_due(self, reason: Reason, *, is_after_turn: bool) -> bool:
        """Return True if it follows an automatic compaction for this reason.

        `is_after_turn` means that a turn has just ended.
        """
        return reason in self.reasons and (is_after_turn or not self.only_after_turn)


def _nothing(_situation: ContextAfter) -> ContinuationPlan:
    return ContinuationPlan(branch="none", reason="the policy adds no continuation")


NONE: Final = Continuation(
    name="none", after=_nothing, reasons=frozenset({"threshold"}), only_after_turn=True
)


_AGENT_SAYS: Final = "Go on with the next step of the work, unless all of it is done."


def _by_agent(_situation: ContextAfter) -> ContinuationPlan:
    """Continue with an extension's message, which each harness shows in its own role."""
    record = CustomMessage(custom_type=CONTINUES, content=_AGENT_SAYS, display=False)
    return ContinuationPlan(branch="auto-continue", reason="the policy says so", record=record)


AUTO_CONTINUE: Final = Continuation(
    name="auto-continue", after=_by_agent, reasons=frozenset({"threshold"}), only_after_turn=True
)
"""Due only at the end of a turn: otherwise a request is already under way."""


def unanswered_request(messages: Sequence[Part], entries: Sequence[Event]) -> Part | None:
    """Return the newest message that a person wrote, unless the model answered it.

    `entries` are the path's. Tool results, summaries, extensions' messages, continuation messages and blank
    messages, which an API would refuse, do not count.
    """
    events = {(entry.session, entry.seq): entry for entry in entries}
    for part in reversed(messages):
        event = events.get((part.session, part.seq))
        if event is None:
            continue
        # A merged message has the event of its first part; one of several messages of an event has its own role.
        role = part.role if part.place else event.role
        if role == "assistant":
            return None
        if role == part.role == "user" and node_of(event).by_person and _asks(part):
            return part
    return None


def has_media(message: Message) -> bool:
    """Return True if a message holds images or files."""
    return any(isinstance(block, Image | Opaque) for block in message.blocks)


def _asks(part: Part) -> bool:
    message = view_of_part(part)
    # APIs take more for white space than Python does.
    return bool(message.text.strip()) or has_media(message)


HAD_MEDIA: Final = "had_media"
_NO_TEXT: Final = "[Continuing task — previous message contained media attachments]"
_WITH_TEXT: Final = "[Continuing from compaction] "


def _replayed(situation: ContextAfter) -> ContinuationPlan:
    """Follow opencode: repeat the unanswered request, repeat its text alone, or say to go on.

    Repeat the newest request if it is unanswered and not kept. Repeat only its text if it holds
    images or files, because these may have made the context too large. Do not show an answered image again.
    """
    request = unanswered_request(situation.before, situation.entries)
    if request is None:
        return ContinuationPlan(
            branch="mid-task", reason="the newest request was answered", record=_user_message(CONTINUE_WORD)
        )
    message = view_of_part(request)
    if has_media(message):
        text = f"{_WITH_TEXT}{message.text}" if message.text.strip() else _NO_TEXT
        return ContinuationPlan(
            branch="media",
            reason=f"request {request.id} is unanswered and holds attachments",
            record=_user_message(text, had_media=True),
            evicts=True,
            repeats_request=True,
        )
    if request.id in situation.kept:
        return ContinuationPlan(branch="unanswered", reason=f"request {request.id} is unanswered, and kept")
    # A harness may store messages in a shape that refold's own records do not have.
    is_same = format_of(FORMAT).message(request.raw) == message
    return ContinuationPlan(
        branch="unanswered",
        reason=f"request {request.id} is unanswered and gone",
        record=_continuing(request.raw) if is_same else _user_message(message.text),
        repeats_request=True,
    )


def _user_message(text: str, *, had_media: bool = False) -> MessageRecord:
    message = stringify({"role": "user", "content": text}).encode()
    return _continuing(message, **({HAD_MEDIA: True} if had_media else {}))


def _continuing(message: bytes, **marks: bool) -> MessageRecord:
    return MessageRecord(message=msgspec.Raw(message), metadata={CONTINUES: True, **marks})


REPLAY: Final = Continuation(
    name="replay", after=_replayed, reasons=frozenset({"overflow", "incomplete", "threshold"})
)


CONTINUATIONS: Final[dict[str, Continuation]] = {each.name: each for each in (NONE, AUTO_CONTINUE, REPLAY)}
"""The continuations that a policy can name."""
