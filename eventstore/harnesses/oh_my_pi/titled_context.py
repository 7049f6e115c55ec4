"""Write a context as a session file that oh-my-pi resumes."""

from __future__ import annotations

from collections import Counter

import msgspec

from eventstore.harnesses.oh_my_pi.dialect import DIALECT
from eventstore.harnesses.oh_my_pi.titled_file import title_slot
from eventstore.harnesses.pi import context_file
from eventstore.harnesses.resumable import Resumable, ResumableMessage, Written, name_of_block
from eventstore.javascript import iso_time
from eventstore.views import Thinking, ToolCall


def written(resumable: Resumable) -> Written:
    """Return a file for a context.

    oh-my-pi sends no call without a result, and no seal of a thought beside such a call.
    """
    lost: Counter[str] = Counter()
    answered = {message.view.tool_call_id for message in resumable.messages}
    messages = [_without_unanswered(message, answered, lost) for message in resumable.messages]
    resumable = msgspec.structs.replace(resumable, messages=tuple(messages))
    file = context_file.written(resumable, DIALECT)
    slot = title_slot(resumable.title, iso_time(resumable.time) or "")
    return Written([slot, *file.pieces], lost + file.lost)


def _without_unanswered(
    message: ResumableMessage, answered: set[str], lost: Counter[str]
) -> ResumableMessage:
    if all(call.id in answered for call in message.view.tool_calls):
        return message
    kept = []
    for block, payload in message.blocks:
        if isinstance(block, Thinking):
            lost[f"{name_of_block(block)} beside a call without a result"] += 1
        elif isinstance(block, ToolCall) and block.id not in answered:
            lost["calls without a result"] += 1
        else:
            kept.append((block, payload))
    view = msgspec.structs.replace(message.view, blocks=tuple(block for block, _ in kept))
    return msgspec.structs.replace(message, view=view, payloads=tuple(payload for _, payload in kept))
