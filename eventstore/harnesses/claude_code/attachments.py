"""Render the attachments that Claude Code adds to a conversation as text for a model.

The records hold the data of an attachment, not the sentences around it, which the harness adds when it sends a request.
So a context shows what was attached and by which name, not the very words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from eventstore.javascript import stringify

_SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "agent_listing_delta": ("addedLines", "removedTypes"),
    "compact_file_reference": ("filename",),
    "critical_system_reminder": ("content",),
    "current_session_memory": ("path", "content"),
    "date_change": ("newDate",),
    "deferred_tools_delta": ("addedLines", "addedNames", "removedNames"),
    "diagnostics": ("files",),
    "directory": ("path", "content"),
    "edited_text_file": ("filename", "snippet"),
    "file": ("filename", "content"),
    "hook_additional_context": ("content",),
    "hook_blocking_error": ("blockingError",),
    "hook_stopped_continuation": ("message",),
    "invoked_skills": ("skills",),
    "mcp_instructions_delta": ("addedBlocks", "removedNames"),
    "mcp_resource": ("uri", "content"),
    "nested_memory": ("path", "content"),
    "opened_file_in_ide": ("filename",),
    "output_style": ("style",),
    "pdf_reference": ("filename", "pageCount"),
    "plan_file_reference": ("planFilePath", "planContent"),
    "plan_mode": ("planFilePath",),
    "plan_mode_exit": ("planFilePath",),
    "plan_mode_reentry": ("planFilePath",),
    "queued_command": ("prompt",),
    "relevant_memories": ("memories",),
    "selected_lines_in_ide": ("filename", "content"),
    "skill_listing": ("content",),
    "task_reminder": ("content",),
    "task_status": ("description", "status"),
    "todo_reminder": ("content",),
}
"""Types of attachments that are sent to the model, with the fields that are sent."""
NAMES: Final = (*_SHOWN, "hook_success")
_ON_SUCCESS: Final = ("SessionStart", "UserPromptSubmit")
"""The events whose hooks' output goes to the model."""


def attachment_text(attachment: Mapping[str, Any]) -> str | None:
    """Return an attachment's name and its values sent to the model as text; None if not sent."""
    name = attachment.get("type")
    if name == "hook_success" and attachment.get("hookEvent") in _ON_SUCCESS:
        fields: tuple[str, ...] = ("content",)
        if not attachment.get("content"):
            return None
    elif isinstance(name, str) and name in _SHOWN:
        fields = _SHOWN[name]
    else:
        return None
    texts = [text for field in fields for text in _texts(attachment.get(field))]
    if name == "queued_command":
        return "\n".join(texts)
    return as_reminder(name, texts)


def as_reminder(name: str, texts: Iterable[str]) -> str:
    """Return an attachment's values as a reminder, its name in place of unrecorded sentences."""
    return "\n".join(["<system-reminder>", f"{name.replace('_', ' ')}:", *texts, "</system-reminder>"])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield from value
    elif value is not None and value != []:
        yield stringify(value)
