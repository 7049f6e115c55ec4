"""The events of an answer of Anthropic's Messages API, put together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from eventstore.views import Usage

if TYPE_CHECKING:
    from anthropic.types import RawMessageStreamEvent

_CUT: Final = ("max_tokens", "model_context_window_exceeded")
_CALLS: Final = ("tool_use", "server_tool_use")


class Streamed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an answer: its text, and why it ended, "" where its end did not come.

    `calls_tool`: there is a call of a tool in it.
    """

    text: str
    stop_reason: str
    calls_tool: bool
    model: str
    usage: Usage | None

    @property
    def is_cut(self) -> bool:
        """Whether it ended because it was as long as it might get."""
        return self.stop_reason in _CUT


def read(events: Iterable[RawMessageStreamEvent]) -> Streamed:
    """The answer that events tell of, in their order; what they tell of beside texts and calls is passed over."""
    texts: list[str] = []
    counts: dict[str, int] = {}
    model = stop_reason = ""
    calls_tool = False
    for event in events:
        if event.type == "message_start":
            model = event.message.model
            counts |= _counts(event.message.usage)
        elif event.type == "content_block_start":
            calls_tool = calls_tool or event.content_block.type in _CALLS
        elif event.type == "content_block_delta":
            if event.delta.type == "text_delta":
                texts.append(event.delta.text)
        elif event.type == "message_delta":
            stop_reason = event.delta.stop_reason or ""
            counts |= _counts(event.usage)
    return Streamed(
        text="".join(texts),
        stop_reason=stop_reason,
        calls_tool=calls_tool,
        model=model,
        usage=_usage(counts) if counts else None,
    )


_NAMES: Final = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}


def _counts(usage: Any) -> dict[str, int]:
    """The counts that a usage has; a later one of the same answer takes the place of an earlier."""
    counts = {name: getattr(usage, theirs, None) for theirs, name in _NAMES.items()}
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _usage(counts: dict[str, int]) -> Usage:
    return Usage(**counts, total=sum(counts.values()))
