"""The rules of Claude Code: what a path looks like to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eventstore.event import Event
from eventstore.formats.claude_code.record import shown_messages
from eventstore.javascript import stringify
from eventstore.paths import LazyEvent
from eventstore.records import TextReplacement
from projections.rules.base import Rules


class ClaudeCodeRules(Rules):
    """The rules of Claude Code, whatever its version."""

    name = "claude-code"
    format = "claude-code/1"
    kinds = frozenset({"message", "custom_message"})
    arranges = True

    def summary(self, compaction: Event | LazyEvent, record: bytes) -> Sequence[bytes]:  # noqa: ARG002
        return shown_messages("compaction", record)

    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        return shown_messages(entry.kind, record)

    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:  # noqa: ARG002
        return messages

    def placeholder(self, text: str, time: int | None) -> bytes:  # noqa: ARG002
        return b'{"role":"user","isMeta":true,"content":%s}' % stringify(text).encode("utf-8", "replace")


RULES: Final = ClaudeCodeRules()
