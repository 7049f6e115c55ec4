"""Read the records that only oh-my-pi writes, or that it writes differently from pi."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from eventstore.event import EventFacts, Flag
from eventstore.formats.oh_my_pi.dialect import default_model, fields_of
from eventstore.formats.pi import entry
from eventstore.formats.pi.message import usage_view, view_of_wire, wire_of
from eventstore.formats.pi.view import view as pi_view
from eventstore.javascript import text_or_empty
from eventstore.node import Node, RequestView, SettingsView, TitleView
from eventstore.views import Message, Text

_FAILED: Final = ("error", "aborted")
_SENT_AS_CUSTOM: Final = ("developer", "hookMessage", "fileMention")
REQUEST_TYPES: Final = ("skill-prompt", "collab-prompt")
"""Types of extension messages that a user may have written, according to `attribution`."""


def view(kind: str, record: bytes) -> Node:
    """Return a record's view."""
    reader = _READERS.get(kind)
    return reader(record) if reader is not None else pi_view(kind, record)


def native_provider(preserved: object) -> str:
    """Return the provider whose native history a compaction preserves, "" for none."""
    fields = preserved if isinstance(preserved, dict) else {}
    found = fields.get("openaiRemoteCompaction")
    history = found if isinstance(found, dict) else {}
    items = history.get("replacementHistory")
    if not isinstance(items, list) or not all(isinstance(item, dict | list) for item in items):
        return ""
    return text_or_empty(history.get("provider"))


def message_view(raw: bytes) -> Message:
    """Return the view of a message: pi's roles, and those that oh-my-pi adds."""
    wire = wire_of(raw)
    if wire.role == "pythonExecution":
        fields = fields_of(raw)
        plain = view_of_wire(wire)
        assert plain.shell is not None  # noqa: S101  the role says so
        return msgspec.structs.replace(
            plain, shell=msgspec.structs.replace(plain.shell, command=text_or_empty(fields.get("code")))
        )
    if wire.role == "fileMention":
        return msgspec.structs.replace(view_of_wire(wire), blocks=_mentioned(fields_of(raw)))
    return view_of_wire(wire)


def as_sent(message: Message) -> Message:
    """Return a message with a role that requests accept.

    Messages of the developer and of hooks, and mentioned files, are sent as extension messages.
    """
    return msgspec.structs.replace(message, role="custom") if message.role in _SENT_AS_CUSTOM else message


def _mentioned(fields: dict[str, Any]) -> tuple[Text, ...]:
    """Return the contents of the files that the user mentioned."""
    files = fields.get("files")
    return tuple(
        Text(
            f'<file path="{text_or_empty(file.get("path"))}">\n{text_or_empty(file.get("content"))}\n</file>'
        )
        for file in (files if isinstance(files, list) else ())
        if isinstance(file, dict)
    )


def _message(record: bytes) -> Node:
    plain = pi_view("message", record)
    if not plain.messages or plain.messages[0].role not in ("pythonExecution", "fileMention"):
        return plain
    raw = entry.entry_of(record).message
    return (
        msgspec.structs.replace(plain, messages=(message_view(bytes(raw)),))
        if isinstance(raw, msgspec.Raw)
        else plain
    )


def _compaction(record: bytes) -> Node:
    plain = pi_view("compaction", record)
    native = native_provider(fields_of(record).get("preserveData"))
    if not native or plain.compaction is None:
        return plain
    return msgspec.structs.replace(plain, compaction=msgspec.structs.replace(plain.compaction, native=native))


def _custom_message(record: bytes) -> Node:
    plain, fields = pi_view("custom_message", record), fields_of(record)
    by_person = fields.get("customType") in REQUEST_TYPES and fields.get("attribution") == "user"
    return msgspec.structs.replace(plain, by_person=by_person)


def _model_change(record: bytes) -> Node:
    fields = fields_of(record)
    line = " ".join(
        each for each in (text_or_empty(fields.get("model")), text_or_empty(fields.get("role"))) if each
    )
    named = default_model(fields)
    if named is None:
        return Node(line=line)
    provider, slash, model = named.partition("/")
    return Node(
        settings=SettingsView(provider=provider if slash else "", model=model if slash else named), line=line
    )


def _thinking_level_change(record: bytes) -> Node:
    level = fields_of(record).get("thinkingLevel")
    return Node(
        settings=SettingsView(thinking_level="off" if level is None else level), line=str(level or "off")
    )


def _session_info(record: bytes) -> Node:
    fields = fields_of(record)
    title = fields.get("title", fields.get("name"))
    if not isinstance(title, str):
        return Node()
    return Node(title=TitleView(text=title.strip()), line=title)


def _model_usage(record: bytes) -> Node:
    """Read a request outside the conversation, such as one for a title; its tokens are counted."""
    fields = fields_of(record)
    usage, model = usage_view(fields.get("usage")), fields.get("model")
    request = RequestView(
        summarizer=text_or_empty(fields.get("purpose")),
        provider=fields.get("provider"),
        model=model if isinstance(model, str) else None,
        usage=usage if usage and usage.total else None,
        is_failed=fields.get("stopReason") in _FAILED,
    )
    return Node(requests=(request,), line=" ".join(filter(None, (request.summarizer, request.model))))


def _note(record: bytes) -> Node:
    """Read the title that an import found at the head of the file."""
    title = fields_of(record).get("title")
    return Node(title=TitleView(text=title.strip()) if isinstance(title, str) else None)


def note_facts(record: bytes) -> EventFacts:
    """Return the facts of a note that the import adds."""
    return EventFacts(flags=Flag.GIVES_TITLE) if _note(record).title else EventFacts()


def _line_of(name: str) -> Callable[[bytes], Node]:
    """Return a reader for kinds that have only a line in the log: the value of this field."""

    def read(record: bytes) -> Node:
        value = fields_of(record).get(name)
        texts = value if isinstance(value, list) else [value]
        return Node(line=" ".join(each for each in texts if isinstance(each, str)))

    return read


_READERS: Final[dict[str, Callable[[bytes], Node]]] = {
    "message": _message,
    "compaction": _compaction,
    "custom_message": _custom_message,
    "model_change": _model_change,
    "thinking_level_change": _thinking_level_change,
    "session_info": _session_info,
    "model_usage": _model_usage,
    "mode_change": _line_of("mode"),
    "ttsr_injection": _line_of("injectedRules"),
    # Not shown, because the hash can be linked to an account.
    "credential_pin": _line_of("provider"),
    "note": _note,
}
