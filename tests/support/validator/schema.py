"""The rules of the Messages API, and the fields and blocks that its messages may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from projections.requests.rendered import Violation


class ApiRule(StrEnum):
    """A rule whose violation makes the API refuse a body."""

    JSON = "json"
    """The body is a JSON object in UTF-8, without lone surrogates."""
    REQUEST_SIZE = "request-size"
    """A body has at most 32 MB."""
    FIELDS = "fields"
    """The body and its messages have only the API's fields, and not both `compaction` and
    `context_management`.
    """
    MODEL = "model"
    """`model` is a non-empty text."""
    MAX_TOKENS = "max-tokens"
    """`max_tokens` is an integer ≥ 0."""
    SYSTEM = "system"
    """`system` is a text or a list of text blocks, none of them blank."""
    TOOLS = "tools"
    """Each of `tools` has a schema and a unique name of 1 to 128 letters, digits, `_` and `-`."""
    TOOL_CHOICE = "tool-choice"
    """`tool_choice` is one of the API's values, there are tools, and a named tool is among them."""
    STREAM = "stream"
    """`stream` is true or false."""
    MESSAGES = "messages"
    """`messages` is a list of 1 to 100,000 objects."""
    ROLE = "role"
    """A message's role is user or assistant."""
    FIRST_MESSAGE = "first-message"
    """The first message is the user's, unless a compaction block begins it."""
    ALTERNATION = "alternation"
    """User and assistant alternate."""
    CONTENT = "content"
    """A message's content is a non-empty text or list of blocks."""
    BLOCK_TYPE = "block-type"
    """A block has a type that its message's role, or a result, can hold."""
    BLOCK_SHAPE = "block-shape"
    """A block has the fields of its type, with valid values; common types have no others."""
    BLANK_TEXT = "blank-text"
    """A text is more than white space."""
    FINAL_SPACE = "final-space"
    """A final assistant message does not end in white space."""
    CALL_ID = "call-id"
    """Ids of calls are 1 to 64 letters, digits, `_` and `-`."""
    DUPLICATE_CALL_ID = "duplicate-call-id"
    """No two calls share an id."""
    TOOL_NAME = "tool-name"
    """A call's tool has a name of 1 to 128 letters, digits, `_` and `-`."""
    MISSING_RESULT = "missing-result"
    """Every call has its result in the very next message."""
    ORPHAN_RESULT = "orphan-result"
    """Every result has its call in the message before."""
    DUPLICATE_RESULT = "duplicate-result"
    """A call has one result."""
    RESULT_ORDER = "result-order"
    """Results come first in their message."""
    EMPTY_ERROR = "empty-error"
    """A failed call's result is not empty."""
    IMAGE_IN_ERROR = "image-in-error"
    """A failed call's result is text."""
    IMAGE_TYPE = "image-type"
    """An image is JPEG, PNG, GIF or WebP, and matches its media type."""
    IMAGE_DATA = "image-data"
    """An image's data is base64, and begins like an image."""
    IMAGE_SIZE = "image-size"
    """An image has at most 5 MB of base64, and 8,000 pixels a side; 2,000 among more than 20."""
    IMAGE_COUNT = "image-count"
    """A request has at most 100 images."""
    UNSIGNED_THINKING = "unsigned-thinking"
    """Thinking has a signature; redacted thinking has data."""
    FINAL_THINKING = "final-thinking"
    """A message does not end in thinking."""
    COMPACTION_BLOCK = "compaction-block"
    """At most one compaction block has content, and it comes first."""
    SERVER_TOOL = "server-tool"
    """A server tool's call and result are in one message, call first, with the API's names."""
    CACHE_BREAKPOINTS = "cache-breakpoints"
    """At most four cache breakpoints, one-hour ones before five-minute ones, none on thinking."""


Fields = Mapping[str, Callable[[Any], bool]]
"""Field names, each with a predicate for valid values."""

OF_BODIES: Final = frozenset(
    """
    billing_policy cache_control compaction container context_management diagnostics fallback_credit_token fallbacks
    inference_geo max_tokens mcp_servers messages metadata model output_config output_format service_tier speed
    stop_sequences stream system temperature thinking thread tool_choice tools top_k top_p
    """.split()
)
OF_MESSAGES: Final = frozenset({"role", "content"})

SERVER_RESULTS: Final = frozenset(
    {
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
    }
)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def says_something(value: Any) -> bool:
    """Return True if a value is a text of more than white space."""
    return isinstance(value, str) and bool(value.strip())


def _is_filled(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_anything(_value: Any) -> bool:
    return True


def _is_text_or_null(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_list_or_null(value: Any) -> bool:
    return value is None or isinstance(value, list)


def _is_summary(value: Any) -> bool:
    return value is None or _is_filled(value)


def _is_content(value: Any) -> bool:
    return isinstance(value, str | list)


def _is_outcome(value: Any) -> bool:
    return isinstance(value, dict | list)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(map(_is_text_block, value))


def _is_text_block(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "text" and says_something(value.get("text"))


def _are_shown(value: Any) -> bool:
    return (
        isinstance(value, list)
        and value != []
        and all(_is_text_block(each) or _is_image(each) for each in value)
    )


def _is_image(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "image" and isinstance(value.get("source"), dict)


_OF_DOCUMENTS: Final[Mapping[str, Fields]] = {
    "base64": {"media_type": lambda value: value == "application/pdf", "data": _is_filled},
    "text": {"media_type": lambda value: value == "text/plain", "data": says_something},
    "content": {"content": lambda value: says_something(value) or _are_shown(value)},
    "url": {"url": _is_filled},
    "file": {"file_id": _is_filled},
}
"""The sources of documents."""


def _is_document(value: Any) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    needed = _OF_DOCUMENTS.get(kind) if isinstance(kind, str) else None
    return needed is not None and all(fits(value.get(name)) for name, fits in needed.items())


_OF_ALL: Final[Fields] = {"type": is_text, "cache_control": _is_anything}
NEEDED: Final[Mapping[str, Fields]] = {
    "text": {"text": is_text},
    "image": {"source": _is_object},
    "document": {"source": _is_document},
    "container_upload": {"file_id": _is_filled},
    "tool_reference": {"tool_name": _is_filled},
    "search_result": {"source": _is_filled, "title": _is_filled, "content": _are_texts},
    "tool_use": {"id": is_text, "name": is_text, "input": _is_object},
    "tool_result": {"tool_use_id": is_text},
    "thinking": {"thinking": is_text, "signature": is_text},
    "redacted_thinking": {"data": is_text},
    "compaction": {"content": _is_summary},
    "server_tool_use": {"id": is_text, "name": is_text, "input": _is_object},
    **{type_: {"tool_use_id": is_text, "content": _is_outcome} for type_ in SERVER_RESULTS},
}
_FURTHER: Final[Mapping[str, Fields]] = {
    "text": {"citations": _is_anything},
    "image": {"transformations": _is_anything},
    "document": {"title": _is_text_or_null, "context": _is_text_or_null},
    "tool_use": {"caller": _is_object, "toolset_name": _is_anything},
    "tool_result": {"content": _is_content, "is_error": _is_boolean, "toolset_name": _is_anything},
    "compaction": {
        "signature": _is_text_or_null,
        "encrypted_content": _is_text_or_null,
        "tool_changes": _is_list_or_null,
    },
}
KNOWN: Final[Mapping[str, Fields]] = {
    type_: {**_OF_ALL, **needed, **_FURTHER.get(type_, {})} for type_, needed in NEEDED.items()
}
CLOSED: Final = frozenset({"text", "image", "thinking", "tool_use", "tool_result"})
"""Types of blocks that have no other fields; the others are for the API to fill."""


MOST_MESSAGES: Final = 100_000
THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_SHOWN: Final = frozenset({"text", "image", "document", "search_result"})
_OF_RESULTS: Final = _SHOWN | {"tool_reference"}
_OF_ROLES: Final = {
    "user": _SHOWN | {"tool_result", "compaction", "container_upload"},
    "assistant": THINKING
    | SERVER_RESULTS
    | {"text", "tool_use", "server_tool_use", "compaction", "container_upload"},
}


class Located(msgspec.Struct, frozen=True):
    """A block and its path in the body."""

    path: str
    block: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.block["type"])


class CheckedMessage(msgspec.Struct, frozen=True):
    """A well-formed message, with its content as blocks."""

    path: str
    role: str
    blocks: list[Located]


def checked_messages(messages: Any) -> tuple[list[CheckedMessage], list[Violation]]:
    """Return the well-formed messages of a body, and the violations of the others."""
    if not isinstance(messages, list) or not 0 < len(messages) <= MOST_MESSAGES:
        problem = f"it is not a list of 1 to {MOST_MESSAGES:,} messages"
        return [], [Violation(rule=ApiRule.MESSAGES, path="messages", problem=problem)]
    found = [_turn(f"messages[{number}]", message) for number, message in enumerate(messages)]
    return [turn for turn, _ in found if turn], [each for _, violations in found for each in violations]


def _turn(path: str, message: Any) -> tuple[CheckedMessage | None, list[Violation]]:
    if not isinstance(message, dict):
        return None, [Violation(rule=ApiRule.MESSAGES, path=path, problem="it is not an object")]
    role = message.get("role")
    if not isinstance(role, str) or role not in _OF_ROLES:
        return None, [
            Violation(rule=ApiRule.ROLE, path=f"{path}.role", problem="it is not user or assistant")
        ]
    content = message.get("content")
    if not isinstance(content, str | list) or not content:
        problem = "it is not a non-empty text or list of blocks"
        return None, [Violation(rule=ApiRule.CONTENT, path=f"{path}.content", problem=problem)]
    blocks = located(f"{path}.content", content)
    violations = [
        Violation(rule=ApiRule.FIELDS, path=f"{path}.{name}", problem="unknown field")
        for name in message
        if name not in OF_MESSAGES
    ]
    violations += [each for block in blocks for each in _shape(block, _OF_ROLES[role])]
    return CheckedMessage(path, role, blocks), violations


def located(path: str, content: str | list[Any]) -> list[Located]:
    """Return the blocks of a content; a text is one block, at its own path."""
    if isinstance(content, str):
        return [Located(path, {"type": "text", "text": content})]
    return [
        Located(f"{path}[{number}]", block if isinstance(block, dict) else {})
        for number, block in enumerate(content)
    ]


def inner(holder: Located) -> list[Located]:
    """Return the blocks in a result; none if its content is a text."""
    content = holder.block.get("content")
    return located(f"{holder.path}.content", content) if isinstance(content, list) else []


def _shape(item: Located, allowed: frozenset[str]) -> Iterator[Violation]:
    """Yield the violations of a block by itself."""
    type_ = item.block.get("type")
    if not isinstance(type_, str) or type_ not in allowed:
        problem = f"a message cannot hold a block of type {str(type_)[:80]!r}"
        yield Violation(rule=ApiRule.BLOCK_TYPE, path=item.path, problem=problem)
        return
    yield from _fields(item, type_)
    if type_ == "tool_result":
        for each in inner(item):
            yield from _shape(each, _OF_RESULTS)


def _fields(item: Located, type_: str) -> Iterator[Violation]:
    known = KNOWN[type_]
    for name in NEEDED[type_]:
        if name not in item.block:
            yield Violation(rule=ApiRule.BLOCK_SHAPE, path=item.path, problem=f"it has no {name}")
    for name, value in item.block.items():
        path = f"{item.path}.{name}"
        if name in known and not known[name](value):
            yield Violation(rule=ApiRule.BLOCK_SHAPE, path=path, problem="its value is invalid")
        elif name not in known and type_ in CLOSED:
            yield Violation(rule=ApiRule.BLOCK_SHAPE, path=path, problem="unknown field")
