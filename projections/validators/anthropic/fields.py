"""What a body, its messages and its blocks consist of: field by field, which values there may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Fields = Mapping[str, Callable[[Any], bool]]
"""Names of fields, each with what tells whether a value fits."""

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
    """Whether a value is a text of more than white space."""
    return isinstance(value, str) and bool(value.strip())


def _is_filled(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


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
"""Where a document comes from."""


def _is_document(value: Any) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    needed = _OF_DOCUMENTS.get(kind) if isinstance(kind, str) else None
    return needed is not None and all(fits(value.get(name)) for name, fits in needed.items())


_OF_ALL: Final[Fields] = {"type": is_text, "cache_control": _is_anything}
NEEDED: Final[Mapping[str, Fields]] = {
    "text": {"text": is_text},
    "image": {"source": _is_object},
    "document": {"source": _is_document},
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
"""Types of blocks that have no other fields. The others are the API's own to fill."""
