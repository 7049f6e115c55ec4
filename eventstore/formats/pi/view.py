"""Convert pi's records, and those of refold that have the same shape, to views.

A view decodes a record once, and only the fields of its kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.formats.pi.entry import entry_of
from eventstore.formats.pi.message import content_blocks, usage_view, view_of_wire
from eventstore.javascript import stringify, text_or_empty, tolerant_decoder, tolerant_json
from eventstore.node import (
    CONTINUES,
    NOTHING,
    BranchView,
    CompactionView,
    LabelView,
    Node,
    PromptView,
    RequestView,
    SettingsView,
    TitleView,
)
from eventstore.records import FileSets
from eventstore.views import Extension, Message, Text

S = TypeVar("S", bound=msgspec.Struct)

_FORMS: Final = (
    "[Resuming] ",
    "[Resuming — previous message",
    "[Continuing from compaction] ",
    "[Continuing task — previous message",
)
"""The beginnings of continuation messages that harnesses do not mark."""
_MARKS: Final = (CONTINUES.encode(), b"[Resuming", b"[Continuing")


def view(kind: str, record: bytes) -> Node:
    """Return the meaning of a record."""
    reader = _READERS.get(kind)
    return reader(record) if reader is not None else NOTHING


def continues(kind: str, record: bytes) -> bool:
    """Return True for a user's or extension's message that continues after a compaction.

    The mark is in the metadata of the record or message, or is the type of an extension's message. Some
    harnesses write such messages unmarked, in a known form.
    """
    # Decode only the few fields that matter.
    if not any(mark in record for mark in _MARKS):
        return False
    fields = tolerant_json(record)
    if kind == "custom_message":
        return bool(fields.get("customType") == CONTINUES)
    message = fields.get("message")
    return _is_marked(fields) or (
        isinstance(message, dict) and (_is_marked(message) or _first_text(message).startswith(_FORMS))
    )


def _is_marked(fields: dict[str, Any]) -> bool:
    metadata = fields.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get(CONTINUES))


def _first_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        texts = (block.get("text") for block in content if isinstance(block, dict))
        content = next((text for text in texts if isinstance(text, str) and text), "")
    return content if isinstance(content, str) else ""


class _Model(msgspec.Struct, frozen=True):
    provider: Any = UNSET
    model: Any = UNSET
    modelId: Any = UNSET  # noqa: N815  pi's names
    thinkingLevel: Any = UNSET  # noqa: N815


class _Summary(msgspec.Struct, frozen=True):
    summary: Any = None
    details: Any = None
    fromHook: Any = None  # noqa: N815
    fromExtension: Any = None  # noqa: N815
    request: Any = None
    tokensBefore: Any = None  # noqa: N815
    tokensAfter: Any = None  # noqa: N815
    reason: Any = None
    policy: Any = None
    template: Any = None
    left: Any = None


class _Extension(msgspec.Struct, frozen=True):
    customType: Any = None  # noqa: N815
    content: Raw | UnsetType = UNSET
    details: Any = None
    data: Any = None


class _Other(msgspec.Struct, frozen=True):
    """The fields of every other kind."""

    label: Any = None
    name: Any = None
    cwd: Any = None
    systemPrompt: Any = None  # noqa: N815
    targetId: Any = None  # noqa: N815
    tools: Any = None


_model_of: Final = tolerant_decoder(_Model)
_summary_of: Final = tolerant_decoder(_Summary)
_extension_of: Final = tolerant_decoder(_Extension)
_other_of: Final = tolerant_decoder(_Other)


def _message(record: bytes) -> Node:
    wire = entry_of(record).wire
    if wire is None:
        return NOTHING
    messages = (view_of_wire(wire),)
    if wire.role == "user":
        goes_on = continues("message", record)
        return Node(messages=messages, continues=goes_on, by_person=not goes_on)
    if wire.role == "assistant":
        return Node(messages=messages, settings=SettingsView(provider=wire.provider, model=wire.model))
    return Node(messages=messages)


def _model_change(record: bytes) -> Node:
    fields = _model_of(record)
    line = joined(fields.provider, fields.modelId)
    return Node(settings=SettingsView(provider=fields.provider, model=fields.modelId), line=line)


def _thinking_level_change(record: bytes) -> Node:
    level = _model_of(record).thinkingLevel
    return Node(settings=SettingsView(thinking_level=level), line=joined(level))


def _compaction(record: bytes) -> Node:
    fields = _summary_of(record)
    by_extension = bool(fields.fromHook or fields.fromExtension)
    return Node(
        messages=(_summary_message("compactionSummary", fields.summary),),
        compaction=CompactionView(
            summary=text_or_empty(fields.summary),
            tokens_before=_count(fields.tokensBefore),
            tokens_after=_count(fields.tokensAfter),
            reason=text_or_empty(fields.reason),
            policy=text_or_empty(fields.policy),
            template=text_or_empty(fields.template),
            missing_sections=_missing_sections(fields.request),
            by_extension=by_extension,
            files=None if by_extension else _files(fields.details),
        ),
        requests=requests_of(fields.request),
    )


def _branch_summary(record: bytes) -> Node:
    fields = _summary_of(record)
    by_extension = bool(fields.fromHook or fields.fromExtension)
    return Node(
        messages=(_summary_message("branchSummary", fields.summary),),
        branch=BranchView(
            summary=text_or_empty(fields.summary),
            left=text_or_empty(fields.left),
            template=text_or_empty(fields.template),
            missing_sections=_missing_sections(fields.request),
            files=None if by_extension else _files(fields.details),
        ),
        requests=requests_of(fields.request),
    )


def _summary_message(role: str, summary: Any) -> Message:
    return Message(role=role, blocks=(Text(summary),) if isinstance(summary, str) else ())


def _files(details: Any) -> FileSets | None:
    if not isinstance(details, dict) or ("readFiles" not in details and "modifiedFiles" not in details):
        return None
    return FileSets(read=_texts(details.get("readFiles")), modified=_texts(details.get("modifiedFiles")))


def _texts(value: Any) -> frozenset[str]:
    return (
        frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()
    )


def requests_of(request: Any, *, alone: bool = True) -> tuple[RequestView, ...]:
    """Return the requests in a field: those of its list, otherwise itself (`alone`)."""
    if not isinstance(request, dict) or not request:
        return ()
    made = request.get("requests")
    listed = made if isinstance(made, list) else [request] if alone else []
    return tuple(_request(each) for each in listed if isinstance(each, dict))


def _request(fields: dict[str, Any]) -> RequestView:
    usage = usage_view(fields.get("usage"))
    model, template = fields.get("model"), fields.get("template")
    return RequestView(
        summarizer=text_or_empty(fields.get("summarizer")),
        endpoint=text_or_empty(fields.get("endpoint")),
        provider=fields.get("provider"),
        model=model if isinstance(model, str) else None,
        template=template if isinstance(template, str) else None,
        usage=usage if usage and usage.total else None,
        is_failed="error" in fields,
        prompt_digest=text_or_empty(fields.get("promptDigest")),
        answer=fields["answer"] if isinstance(fields.get("answer"), str) else None,
        is_cut=fields.get("isCut") is True,
    )


def _missing_sections(request: Any) -> tuple[str, ...]:
    missing = request.get("missingSections") if isinstance(request, dict) else None
    return tuple(each for each in missing if isinstance(each, str)) if isinstance(missing, list) else ()


def _custom_message(record: bytes) -> Node:
    fields = _extension_of(record)
    content = b"null" if isinstance(fields.content, UnsetType) else bytes(fields.content)
    extension = Extension(type=text_or_empty(fields.customType), data=fields.details)
    return Node(
        messages=(Message(role="custom", blocks=content_blocks(content), extension=extension),),
        continues=fields.customType == CONTINUES,
        extension=extension,
        requests=requests_of(fields.details, alone=False),
    )


def _custom(record: bytes) -> Node:
    fields = _extension_of(record)
    extension = Extension(type=text_or_empty(fields.customType), data=fields.data)
    return Node(extension=extension, line=joined(fields.customType))


def _label(record: bytes) -> Node:
    fields = _other_of(record)
    line = joined(fields.targetId, fields.label)
    if not isinstance(fields.targetId, str):
        return Node(line=line)
    return Node(label=LabelView(target=fields.targetId, label=text_or_empty(fields.label)), line=line)


def _session_info(record: bytes) -> Node:
    name = _other_of(record).name
    return Node(title=TitleView(text=name.strip()) if isinstance(name, str) else None, line=joined(name))


def _header(record: bytes) -> Node:
    return Node(folder=text_or_empty(_other_of(record).cwd))


def _session_init(record: bytes) -> Node:
    """Read the record of a started agent.

    Its system prompt is a text or a list of texts. Its tools are usually names, which no request can use; a
    list of definitions, each with `name` and `input_schema`, counts.
    """
    fields = _other_of(record)
    given = fields.systemPrompt if isinstance(fields.systemPrompt, list) else [fields.systemPrompt]
    system = "\n\n".join(text for text in given if isinstance(text, str))
    return Node(prompt=PromptView(system=system, tools=_definitions(fields.tools)))


def _definitions(given: Any) -> bytes:
    if not isinstance(given, list) or not given or not all(map(_is_definition, given)):
        return b""
    return stringify(given).encode("utf-8", "replace")


def _is_definition(tool: Any) -> bool:
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and isinstance(tool.get("input_schema"), dict)
    )


def joined(*values: Any) -> str:
    """Return the values as one line, without missing ones."""
    return " ".join(str(value) for value in values if value is not None and value is not UNSET)


def _count(value: Any) -> int | None:
    """Return a count, None for other values and for numbers beyond doubles."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) == math.inf:
        return None
    return int(value)


_READERS: Final[dict[str, Callable[[bytes], Node]]] = {
    "message": _message,
    "custom_message": _custom_message,
    "compaction": _compaction,
    "branch_summary": _branch_summary,
    "model_change": _model_change,
    "thinking_level_change": _thinking_level_change,
    "custom": _custom,
    "label": _label,
    "session": _header,
    "session_info": _session_info,
    "session_init": _session_init,
}
