"""Whether a provider may still have the messages of a live prefix in its cache."""

from __future__ import annotations

import msgspec

from compaction.prompts import Prompt
from compaction.rewrites.sized_context import CACHE_LIFETIME
from eventstore.formats import view_of_message
from eventstore.views import Message, Thinking
from projections.context.parts import Part


def may_be_cached(prompt: Prompt, *, model: str, now: int) -> bool:
    """Whether a prompt, sent to `model`, begins as a request did that Anthropic's cache still holds.

    Its messages were cached with the newest answer among them: by the model that wrote it, for five minutes,
    behind the harness's own system prompt and tools. Another model, other tools, another choice of tools and
    thinking switched on or off make it another request. Where it is none that is held, a mark would only make
    the whole of it dearer. `now` is in epoch milliseconds.
    """
    if not prompt.is_live or not prompt.tools or prompt.forbids_tools:
        return False
    said = ((part, view_of_message(part.raw)) for part in reversed(prompt.prefix))
    newest = next(((part, message) for part, message in said if message.role == "assistant"), None)
    if newest is None:
        return False
    part, answer = newest
    age = now - _time(part)
    return answer.model == model and not _is_thought_out(answer) and 0 <= age < CACHE_LIFETIME


def _is_thought_out(answer: Message) -> bool:
    return any(isinstance(block, Thinking) for block in answer.blocks)


class _Timed(msgspec.Struct):
    timestamp: float = 0


def _time(part: Part) -> float:
    """When a message says that it was made, in epoch milliseconds; 0 where it does not."""
    try:
        return msgspec.json.decode(part.raw, type=_Timed).timestamp
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0
