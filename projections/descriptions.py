"""Describe sessions and events for people: titles, names and one-line summaries."""

from __future__ import annotations

import re
from typing import Final

from eventstore.event import Event
from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.base import Tools
from eventstore.imports import origin_of
from eventstore.log import EventLog, Snapshot
from eventstore.paths import LazyEvent, event, events
from eventstore.views import Image, Message, Text, Thinking, ToolCall
from projections.context.parts import is_continuation
from projections.person_text import person_text
from projections.usage import FAILED


def title(log: EventLog | Snapshot, session: str) -> str:
    """Return a session's newest title in log order, "" for none. Raises NotFoundError."""
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        seqs = sorted(seq for seq in (head.info_seq, *head.titles) if seq)
        given = (node_of(event(snapshot, session, seq)).title for seq in reversed(seqs))
        found = (each for each in given if each and (not each.about or snapshot.locate(session, each.about)))
        # Of those of one rank, max gives the first: the newest.
        newest = max(found, key=lambda each: each.rank, default=None)
        return newest.text if newest else ""


def first_request(log: EventLog | Snapshot, session: str) -> str:
    """Return the text of the first message that a person wrote, to stand in for a missing title.

    A command alone, such as "/mode", counts only if no other message follows, because it tells sessions apart
    less well. The first message of a subagent is its task, although no person wrote it.
    """
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        if not head.user_seq:
            return ""
        command = ""
        for each in events(snapshot, session, first=head.user_seq):
            text = " ".join(person_text(each).split()) if each.role == "user" and each.is_entry else ""
            if text and (not text.startswith("/") or " " in text):
                return text
            command = command or text
        if command:
            return command
        task = node_of(event(snapshot, session, head.user_seq)).message
        is_subagent = task is not None and origin_of(snapshot, session, "subagent") is not None
        return " ".join(task.text.split()) if task and is_subagent else ""


def heading(log: EventLog | Snapshot, session: str) -> str:
    """Return a session's title, or without one its first request, "" for neither."""
    return title(log, session) or first_request(log, session)


CONTINUATION: Final = "continuation"
"""The name of a continuation after a compaction: its role is "user", but no user wrote it."""
_BEGINNING: Final = re.compile(r".{0,80}\S{0,400}")
"""Characters of a command to show, up to the end of a word."""


def event_name(event: Event | LazyEvent) -> str:
    """Return the name of an event for people: a message's role, or the event's kind."""
    if is_continuation(event):
        return CONTINUATION
    return event.role if event.kind == "message" and event.role else event.kind


def summary_line(event: Event | LazyEvent) -> str:
    """Describe an event in a few words, not cut to any width."""
    view = node_of(event)
    if view.compaction and view.compaction.native and not view.compaction.summary:
        return f"∑ history that only {view.compaction.native} can read"
    return _of_message(view.messages[0], format_of(event.format).tools) if view.messages else view.line


def _of_message(message: Message, tools: Tools) -> str:
    if message.shell is not None:
        return f"! {message.shell.command}"
    if message.tool_calls:
        calls = ", ".join(f"{call.name} {_target(call, tools)}".strip() for call in message.tool_calls)
        return f"→ {calls}"
    text = next((block.text for block in message.blocks if isinstance(block, Text) and block.text), "")
    if not text and message.stop_reason in FAILED:
        text = message.stop_reason
    text = text or next((block.text for block in message.blocks if isinstance(block, Thinking)), "")
    images = sum(isinstance(block, Image) for block in message.blocks)
    mark = {
        "toolResult": "✗ " if message.is_error else "← ",
        "compactionSummary": "∑ ",
        "branchSummary": "∑ ",
    }
    picture = f"[{images} image{'s' * (images > 1)}] " if images else ""
    return (
        f"{mark.get(message.role, '')}{message.tool_name + ': ' if message.tool_name else ''}{picture}{text}"
    )


def _target(call: ToolCall, tools: Tools) -> str:
    """Return the path of a call, or the beginning of its command, cut between words."""
    if path := _first_text(call, tools.paths):
        return path
    found = _BEGINNING.match(_first_text(call, tools.scripts))
    return found[0] if found else ""


def _first_text(call: ToolCall, names: tuple[str, ...]) -> str:
    """Return the first of some arguments that is a text, on one line; "" for none."""
    values = map(call.argument, names)
    return next((" ".join(each.split()) for each in values if isinstance(each, str) and each), "")
