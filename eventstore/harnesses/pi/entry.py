"""Read records in pi's shape, which oh-my-pi's and refold's own share: what each one means.

A record is decoded once; whatever is asked of it comes from that.
"""

# Annotations are not postponed here: msgspec would compile each from its text, at every start of the command.
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from eventstore.event import Flag
from eventstore.harnesses.names import stored_id
from eventstore.harnesses.pi.message import (
    FAILED,
    content_blocks,
    usage_view,
    view_of_wire,
    wire_of,
)
from eventstore.javascript import stringify, text_or_empty, tolerant_json
from eventstore.node import (
    CONTINUES,
    NOTHING,
    BranchView,
    CompactionView,
    ContentReplacement,
    LabelView,
    Node,
    PromptView,
    RequestView,
    SettingsView,
    TitleView,
)
from eventstore.records import FileSets
from eventstore.views import Extension, Message, Text

KINDS: Final = frozenset(
    {
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom_message",
        "custom",
        "label",
        "session_info",
    }
)
"""The types of entries that pi and its dialects write."""


class Entry(msgspec.Struct, frozen=True):
    """The fields that refold reads in records of pi, oh-my-pi and refold."""

    type: Any = None
    id: Any = UNSET
    parentId: Any = UNSET  # noqa: N815  pi's names
    timestamp: Any = None
    message: Raw | UnsetType = UNSET
    metadata: Any = None
    firstKeptEntryId: Any = None  # noqa: N815
    firstKeptEntryIndex: Any = None  # noqa: N815
    targetId: Any = None  # noqa: N815
    replacement: Raw | UnsetType = UNSET
    summary: Any = None
    content: Raw | UnsetType = UNSET
    details: Raw | UnsetType = UNSET
    data: Raw | UnsetType = UNSET
    customType: Any = None  # noqa: N815
    provider: Any = UNSET
    model: Any = UNSET
    modelId: Any = UNSET  # noqa: N815
    thinkingLevel: Any = UNSET  # noqa: N815
    fromHook: Any = None  # noqa: N815
    fromExtension: Any = None  # noqa: N815
    request: Any = None
    tokensBefore: Any = None  # noqa: N815
    tokensAfter: Any = None  # noqa: N815
    reason: Any = None
    policy: Any = None
    template: Any = None
    left: Any = None
    label: Any = None
    name: Any = None
    cwd: Any = None
    systemPrompt: Any = None  # noqa: N815
    tools: Any = None
    # Only oh-my-pi has these.
    title: Any = UNSET
    role: Any = None
    attribution: Any = None
    preserveData: Raw | UnsetType = UNSET  # noqa: N815
    usage: Any = None
    purpose: Any = None
    stopReason: Any = None  # noqa: N815
    mode: Any = None
    injectedRules: Any = None  # noqa: N815
    # Only refold has these.
    error: Any = None
    fromId: Any = None  # noqa: N815
    numbers: Any = None
    outcome: Any = None
    records: Any = None
    relation: Any = None
    session: Any = None
    sourceFormat: Any = None  # noqa: N815
    targets: Any = ()
    unknown: Any = None


_decode_entry: Final = msgspec.json.Decoder(Entry).decode
_RAW: Final = ("message", "replacement", "content", "details", "data", "preserveData")


def entry_of(body: bytes) -> Entry:
    """Parse a record. Raises msgspec.DecodeError unless it is a JSON object."""
    try:
        return _decode_entry(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decoded = tolerant_json(body)
        if not isinstance(decoded, dict):
            raise msgspec.DecodeError("not a JSON object") from None
        known: dict[str, Any] = {name: decoded[name] for name in Entry.__struct_fields__ if name in decoded}
        raw = {name: Raw(stringify(known[name]).encode()) for name in _RAW if name in known}
        return Entry(**(known | raw))


Reader = Callable[[Entry], Node]


def node_of_entry(kind: str, entry: Entry, readers: Mapping[str, Reader]) -> Node:
    """Return what a record means by the readers of its harness's kinds."""
    read = readers.get(kind)
    node = read(entry) if read is not None else NOTHING
    target = entry.firstKeptEntryId if kind == "compaction" else entry.targetId
    if isinstance(target, str) and target:
        return msgspec.structs.replace(node, target=target)
    return node


def read_message(entry: Entry) -> Node:
    """Read a message of any role."""
    if isinstance(entry.message, UnsetType):
        return NOTHING
    raw = bytes(entry.message)
    wire = wire_of(raw)
    messages = (view_of_wire(wire),)
    if wire.role == "user":
        goes_on = (
            _is_marked(entry.metadata)
            or _is_marked(wire.metadata)
            or _first_text(messages[0]).startswith(_FORMS)
        )
        return Node(messages=messages, raw=raw, continues=goes_on, by_person=not goes_on)
    if wire.role == "assistant":
        settings = SettingsView(provider=wire.provider, model=wire.model)
        return Node(messages=messages, raw=raw, settings=settings, flags=Flag.SETS_MODEL)
    return Node(messages=messages, raw=raw)


def _sent_message(entry: Entry) -> Node:
    """Read a message of pi: no answer that failed is sent, and a system message is its prompt."""
    node = read_message(entry)
    role, stop = (node.message.role, node.message.stop_reason) if node.message else ("", "")
    if role == "system":
        return Node(line="system prompt", is_sent=False)
    is_sent = role != "assistant" or stop not in FAILED
    return node if is_sent else msgspec.structs.replace(node, is_sent=False)


def _context_edit(entry: Entry) -> Node:
    """Read an edit of an earlier message: other content, or nothing of it."""
    edit = b"" if isinstance(entry.replacement, UnsetType) else bytes(entry.replacement)
    shown = tolerant_json(edit).get("content") if edit.startswith(b"{") else None
    if not isinstance(entry.targetId, str) or not (edit == b"null" or isinstance(shown, str | list)):
        return NOTHING
    content = b"" if edit == b"null" else stringify(shown).encode()
    texts = "".join(block.text for block in content_blocks(content or b"null") if isinstance(block, Text))
    rewrite = ContentReplacement(target=stored_id(entry.targetId), text=texts, content=content)
    return Node(rewrites=(rewrite,), line=entry.targetId)


_FORMS: Final = (
    "[Resuming] ",
    "[Resuming — previous message",
    "[Continuing from compaction] ",
    "[Continuing task — previous message",
)
"""The beginnings of continuation messages that harnesses do not mark."""


def _is_marked(metadata: Any) -> bool:
    return isinstance(metadata, dict) and bool(metadata.get(CONTINUES))


def _first_text(message: Message) -> str:
    return next((block.text for block in message.blocks if isinstance(block, Text) and block.text), "")


def _model_change(entry: Entry) -> Node:
    line = joined(entry.provider, entry.modelId)
    settings = SettingsView(provider=entry.provider, model=entry.modelId)
    return Node(settings=settings, line=line, flags=Flag.SETS_MODEL)


def _thinking_level_change(entry: Entry) -> Node:
    level = entry.thinkingLevel
    return Node(settings=SettingsView(thinking_level=level), line=joined(level), flags=Flag.SETS_THINKING)


def read_compaction(entry: Entry, *, is_own: bool = False) -> Node:
    """Read a compaction, refold's (`is_own`) or a harness's.

    Those of pi before it tracked files, and of oh-my-pi 17, have no `details`; the entries that the compaction above
    kept went into no summary.
    """
    by_extension = bool(entry.fromHook or entry.fromExtension)
    return Node(
        messages=(_summary_message("compactionSummary", entry.summary),),
        compaction=CompactionView(
            summary=text_or_empty(entry.summary),
            tokens_before=_count(entry.tokensBefore),
            tokens_after=_count(entry.tokensAfter),
            reason=text_or_empty(entry.reason),
            policy=text_or_empty(entry.policy),
            template=text_or_empty(entry.template),
            missing_sections=_missing_sections(entry.request),
            by_extension=by_extension,
            files=None if by_extension else _files(value_of(entry.details)),
            skips_kept=not is_own and isinstance(entry.details, UnsetType),
        ),
        requests=requests_of(entry.request),
    )


def _branch_summary(entry: Entry) -> Node:
    by_extension = bool(entry.fromHook or entry.fromExtension)
    return Node(
        messages=(_summary_message("branchSummary", entry.summary),),
        branch=BranchView(
            summary=text_or_empty(entry.summary),
            left=text_or_empty(entry.left),
            template=text_or_empty(entry.template),
            missing_sections=_missing_sections(entry.request),
            files=None if by_extension else _files(value_of(entry.details)),
        ),
        requests=requests_of(entry.request),
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


def read_custom_message(entry: Entry) -> Node:
    """Read an extension's message to the model."""
    content = b"null" if isinstance(entry.content, UnsetType) else bytes(entry.content)
    details = value_of(entry.details)
    extension = Extension(type=text_or_empty(entry.customType), data=details)
    return Node(
        messages=(Message(role="custom", blocks=content_blocks(content), extension=extension),),
        continues=entry.customType == CONTINUES,
        extension=extension,
        requests=requests_of(details, alone=False),
    )


def _custom(entry: Entry) -> Node:
    extension = Extension(type=text_or_empty(entry.customType), data=value_of(entry.data))
    return Node(extension=extension, line=joined(entry.customType))


def _label(entry: Entry) -> Node:
    line = joined(entry.targetId, entry.label)
    if not isinstance(entry.targetId, str):
        return Node(line=line)
    return Node(label=LabelView(target=entry.targetId, label=text_or_empty(entry.label)), line=line)


def _session_info(entry: Entry) -> Node:
    name = entry.name
    title = TitleView(text=name.strip()) if isinstance(name, str) else None
    return Node(title=title, folder=text_or_empty(entry.cwd), line=joined(name))


def _session_init(entry: Entry) -> Node:
    """Read the record of a started agent.

    Its system prompt is a text or a list of texts. Its tools are usually names, which no request can use; a
    list of definitions, each with `name` and `input_schema`, counts.
    """
    given = entry.systemPrompt if isinstance(entry.systemPrompt, list) else [entry.systemPrompt]
    system = "\n\n".join(text for text in given if isinstance(text, str))
    return Node(prompt=PromptView(system=system, tools=_definitions(entry.tools)))


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


def value_of(field: Raw | UnsetType) -> Any:
    """Return the value of a field that is decoded where it is needed, None for a missing one."""
    return None if isinstance(field, UnsetType) else tolerant_json(bytes(field))


def joined(*values: Any) -> str:
    """Return the values as one line, without missing ones."""
    return " ".join(str(value) for value in values if value is not None and value is not UNSET)


def _count(value: Any) -> int | None:
    """Return a count, None for other values and for numbers beyond doubles."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) == math.inf:
        return None
    return int(value)


READERS: Final[Mapping[str, Reader]] = {
    "message": read_message,
    "custom_message": read_custom_message,
    "compaction": read_compaction,
    "branch_summary": _branch_summary,
    "model_change": _model_change,
    "thinking_level_change": _thinking_level_change,
    "custom": _custom,
    "label": _label,
    "session": lambda entry: Node(folder=text_or_empty(entry.cwd)),
    "session_info": _session_info,
    "session_init": _session_init,
}
"""The readers by kind of the records that pi's dialects share; "session" is a file's header."""
PI_READERS: Final[Mapping[str, Reader]] = {**READERS, "message": _sent_message, "rewrite": _context_edit}
