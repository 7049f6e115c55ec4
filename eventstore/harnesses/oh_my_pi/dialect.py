"""Define oh-my-pi's records as a dialect of pi's: their kinds, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from eventstore.event import Flag
from eventstore.harnesses.oh_my_pi.snapcompact import history_blocks
from eventstore.harnesses.pi import entry
from eventstore.harnesses.pi.dialects import Conversion, Dialect
from eventstore.harnesses.pi.entry import Entry, Reader
from eventstore.harnesses.pi.message import content_blocks, usage_view
from eventstore.javascript import stringify, text_or_empty, tolerant_json
from eventstore.node import Node, RequestView, SettingsView, TitleView
from eventstore.views import Message

ADDED_KINDS: Final = frozenset(
    {
        "credential_pin",
        "mode_change",
        "model_usage",
        "reset_boundary",
        "service_tier_change",
        "session_init",
        "title_change",
        "ttsr_injection",
    }
)
"""The entry types that pi does not write."""
SLOT: Final = "title"
"""The type of a first line with the session's title."""
_DEFAULT_ROLE: Final = "default"
_FAILED: Final = ("error", "aborted")
_SENT_AS_CUSTOM: Final = ("developer", "hookMessage", "fileMention")
REQUEST_TYPES: Final = ("skill-prompt", "collab-prompt")
"""Types of extension messages that a user may have written, according to `attribution`."""


def native_provider(preserved: object) -> str:
    """Return the provider whose native history a compaction preserves, "" for none."""
    fields = preserved if isinstance(preserved, dict) else {}
    found = fields.get("openaiRemoteCompaction")
    history = found if isinstance(found, dict) else {}
    items = history.get("replacementHistory")
    if not isinstance(items, list) or not all(isinstance(item, dict | list) for item in items):
        return ""
    return text_or_empty(history.get("provider"))


def as_sent(message: Message, raw: bytes) -> Message:
    """Return a message with a role that requests accept.

    Messages of the developer and of hooks, and mentioned files, are sent as extension messages. The history of a
    `snapcompact` belongs to its summary.
    """
    if message.role == "compactionSummary" and b'"blocks"' in raw:
        return _with_history(message, tolerant_json(raw).get("blocks"))
    return msgspec.structs.replace(message, role="custom") if message.role in _SENT_AS_CUSTOM else message


def _with_history(summary: Message, blocks: object) -> Message:
    history = content_blocks(stringify(blocks).encode())
    return msgspec.structs.replace(summary, blocks=(*summary.blocks, *history))


def _message(record: Entry) -> Node:
    # An answer names only the model that wrote it: a fallback or what a provider took instead is not what the
    # person chose.
    node = entry.read_message(record)
    return msgspec.structs.replace(node, flags=0) if node.flags else node


def _compaction(record: Entry) -> Node:
    node, preserved = entry.read_compaction(record), entry.value_of(record.preserveData)
    if history := history_blocks(preserved):
        node = msgspec.structs.replace(node, messages=(_with_history(node.messages[0], history),))
    native = native_provider(preserved)
    if not native or node.compaction is None:
        return node
    return msgspec.structs.replace(node, compaction=msgspec.structs.replace(node.compaction, native=native))


def _custom_message(record: Entry) -> Node:
    by_person = record.customType in REQUEST_TYPES and record.attribution == "user"
    return msgspec.structs.replace(entry.read_custom_message(record), by_person=by_person)


def _model_change(record: Entry) -> Node:
    model, role = text_or_empty(record.model), text_or_empty(record.role)
    line = " ".join(filter(None, (model, role)))
    # A change for another role puts no model in use.
    if not model or record.role not in (None, _DEFAULT_ROLE):
        return Node(line=line)
    provider, slash, name = model.partition("/")
    settings = SettingsView(provider=provider if slash else "", model=name if slash else model)
    return Node(settings=settings, line=line, flags=Flag.SETS_MODEL)


def _thinking_level_change(record: Entry) -> Node:
    level = "off" if record.thinkingLevel in (None, UNSET) else record.thinkingLevel
    settings = SettingsView(thinking_level=level)
    return Node(settings=settings, line=str(level or "off"), flags=Flag.SETS_THINKING)


def _session_info(record: Entry) -> Node:
    title = record.name if record.title is UNSET else record.title
    return Node(title=TitleView(text=title.strip()), line=title) if isinstance(title, str) else Node()


def _model_usage(record: Entry) -> Node:
    """Read a request outside the conversation, such as one for a title; its tokens are counted."""
    usage = usage_view(record.usage)
    request = RequestView(
        summarizer=text_or_empty(record.purpose),
        provider=None if record.provider is UNSET else record.provider,
        model=record.model if isinstance(record.model, str) else None,
        usage=usage if usage and usage.total else None,
        is_failed=record.stopReason in _FAILED,
    )
    return Node(requests=(request,), line=" ".join(filter(None, (request.summarizer, request.model))))


def _note(record: Entry) -> Node:
    """Read the title that an import found at the head of the file."""
    return Node(title=TitleView(text=record.title.strip()) if isinstance(record.title, str) else None)


def _line_of(name: str) -> Reader:
    """Return a reader for kinds that have only a line in the log: the value of this field."""

    def read(record: Entry) -> Node:
        value = getattr(record, name)
        texts = value if isinstance(value, list) else [value]
        return Node(line=" ".join(each for each in texts if isinstance(each, str)))

    return read


_READERS: Final[Mapping[str, Reader]] = {
    **entry.READERS,
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


HEADER_FIELDS: Final = frozenset(
    {"title", "titleSource", "additionalDirectories", "previousSessionFiles", "providerPromptCacheKey"}
)
"""Fields of a header that pi does not know."""


def _model_for_pi(record: dict[str, Any]) -> dict[str, Any]:
    provider, slash, model = str(record.get("model", "")).partition("/")
    # A model for a role other than the conversation's has no counterpart.
    if not slash or record.get("role") not in (None, _DEFAULT_ROLE):
        return {"type": ""}
    return {"provider": provider, "modelId": model}


def _model_of_pi(record: dict[str, Any]) -> dict[str, Any]:
    return {"model": f"{record.get('provider', '')}/{record.get('modelId', '')}", "role": _DEFAULT_ROLE}


def _renamed(old: str, new: str) -> Conversion:
    return lambda record: {(new if name == old else name): value for name, value in record.items()}


DIALECT: Final = Dialect(
    harness="oh-my-pi",
    kinds=entry.KINDS | ADDED_KINDS,
    same={"title_change": "session_info"},
    slot=SLOT,
    reads_first=True,
    readers=_READERS,
    sets_model=False,
    header_fields=HEADER_FIELDS,
    to_pi={
        "model_change": _model_for_pi,
        "title_change": lambda record: {"type": "session_info", "name": record.get("title", "")},
        "compaction": _renamed("fromExtension", "fromHook"),
        "branch_summary": _renamed("fromExtension", "fromHook"),
    },
    from_pi={
        "model_change": _model_of_pi,
        "session_info": lambda record: {
            "type": "title_change",
            "title": record.get("name", ""),
            "source": "user",
        },
        "compaction": _renamed("fromHook", "fromExtension"),
        "branch_summary": _renamed("fromHook", "fromExtension"),
    },
)
