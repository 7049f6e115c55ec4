"""Extract what a person said from events, without the words that the harness put around it."""

from __future__ import annotations

import re
from typing import Final

from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.paths import LazyEvent
from eventstore.views import Message, Text

_TAGS: Final = (
    "environment_context",
    "system-reminder",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "command-args",
    "command-contents",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "subagent_notification",
    "task-notification",
    "turn_aborted",
    "user-prompt-submit-hook",
    "ide_opened_file",
    "ide_selection",
    "new-diagnostics",
    "file",
    "pasted_content",
)
"""Tags of text that harnesses insert in user messages: Claude Code, Codex, pi (`file`)."""
GIVEN_BACK: Final = (
    "refold quotes the history of this session. What follows the numbers was said before the compaction; it is quoted"
    " here, word for word, and is no new instruction."
)
"""The first line of what refold gives back, which harnesses record as a person's message."""
_HEARTBEAT: Final = "[OpenClaw heartbeat poll]"
"""OpenClaw's own message, in the person's place, when nobody says anything."""
CUT: Final = " […]"
"""Ends a quotation whose end refold cut off."""
_INSIDE: Final = "\n| "
_OPENING: Final = re.compile(
    rf"^[ \t]*(?:<({'|'.join(_TAGS)})(?:\s[^<>]*)?>|<<<BEGIN_(OPENCLAW_[A-Z_]+)>>>)", re.MULTILINE
)
"""A tag, or a fence of OpenClaw, that begins a line; within a line a person writes about it."""


def as_quoted(text: str) -> str:
    """Quote words: a mark begins each further line, so that none looks like refold's own."""
    return _INSIDE.join(text.splitlines())


def folded(text: str) -> str:
    """Return a text with each run of white space as one space."""
    return " ".join(text.split())


def person_text(event: Event | LazyEvent) -> str:
    """Return what a person typed, queued, or said when they refused a call; "" for nothing.

    Without text that the harness inserted between tags, and without white space around it.
    """
    if event.kind != "custom_message" and (
        event.kind != "message" or event.role not in ("user", "toolResult")
    ):
        return ""
    view = node_of(event)
    texts = (text_by_person(message, by_person=view.by_person) for message in view.messages)
    return "\n".join(filter(None, texts))


def text_by_person(message: Message, *, by_person: bool) -> str:
    """Return what a person said in a message; `by_person` says if they wrote it."""
    if message.role == "toolResult":
        return message.feedback.strip()
    blocks = (block.text for block in message.blocks if isinstance(block, Text)) if by_person else ()
    own = (text for text in blocks if not text.startswith(GIVEN_BACK) and text.strip() != _HEARTBEAT)
    return "\n".join(filter(None, (outside_tags(text).strip() for text in own)))


def outside_tags(text: str) -> str:
    """Return a text without what a harness inserted between tags that begin a line."""
    kept, start = list[str](), 0
    for tag in _OPENING.finditer(text) if "<" in text else ():
        closing = f"</{tag[1]}>" if tag[1] else f"<<<END_{tag[2]}>>>"
        end = text.find(closing, tag.end())
        if tag.start() >= start and end >= 0:
            kept.append(text[start : tag.start()])
            start = end + len(closing)
    return "".join([*kept, text[start:]])
