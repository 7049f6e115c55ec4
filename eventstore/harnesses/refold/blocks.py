"""Define the Messages API's content blocks: required fields, and roles that may hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

Shapes = Mapping[str, type[msgspec.Struct]]
"""Block types and their required fields; other fields are the API's own and stay unchanged."""
Filled = Annotated[str, msgspec.Meta(min_length=1)]
NotBlank = Annotated[str, msgspec.Meta(pattern=r"\S")]
_ServerToolId = Annotated[str, msgspec.Meta(pattern=r"^srvtoolu_[a-zA-Z0-9_]+\Z")]


class _Text(msgspec.Struct, tag_field="type", tag="text"):
    text: NotBlank


_Texts = Annotated[list[_Text], msgspec.Meta(min_length=1)]


class _Pdf(msgspec.Struct, tag_field="type", tag="base64"):
    media_type: Literal["application/pdf"]
    data: Filled


class _PlainText(msgspec.Struct, tag_field="type", tag="text"):
    media_type: Literal["text/plain"]
    data: NotBlank


class _Address(msgspec.Struct, tag_field="type", tag="url"):
    url: Filled


class _File(msgspec.Struct, tag_field="type", tag="file"):
    file_id: Filled


class _Content(msgspec.Struct, tag_field="type", tag="content"):
    content: NotBlank | _Texts


class _Document(msgspec.Struct):
    source: _Pdf | _PlainText | _Address | _File | _Content
    title: str | None = None
    context: str | None = None


class _SearchResult(msgspec.Struct):
    source: Filled
    title: Filled
    content: _Texts


class _ToolReference(msgspec.Struct):
    tool_name: Filled


class _ContainerUpload(msgspec.Struct):
    file_id: Filled


class _RedactedThinking(msgspec.Struct):
    data: Filled


class ApiCompaction(msgspec.Struct):
    """A summary by the API itself, in place of everything before it."""

    content: Filled
    signature: str | None = None
    encrypted_content: str | None = None
    tool_changes: list[dict[str, Any]] | None = None


class _ServerToolUse(msgspec.Struct):
    id: _ServerToolId
    name: Literal[
        "web_search",
        "web_fetch",
        "code_execution",
        "bash_code_execution",
        "text_editor_code_execution",
        "tool_search_tool_regex",
        "tool_search_tool_bm25",
    ]
    input: dict[str, Any]


class _ServerToolResult(msgspec.Struct):
    tool_use_id: _ServerToolId
    content: dict[str, Any] | list[Any]


COMPACTION: Final = "compaction"
SERVER_TOOL_USE: Final = "server_tool_use"
SERVER_TOOL_RESULTS: Final = tuple(
    f"{tool}_tool_result"
    for tool in (
        "web_search",
        "web_fetch",
        "code_execution",
        "bash_code_execution",
        "text_editor_code_execution",
        "tool_search",
    )
)
_UPLOADS: Final[Shapes] = {"container_upload": _ContainerUpload}
_SHOWN: Final[Shapes] = {"document": _Document, "search_result": _SearchResult}
OF_USERS: Final[Shapes] = {**_SHOWN, **_UPLOADS}
OF_RESULTS: Final[Shapes] = {**_SHOWN, "tool_reference": _ToolReference}
OF_ASSISTANTS: Final[Shapes] = {
    "redacted_thinking": _RedactedThinking,
    SERVER_TOOL_USE: _ServerToolUse,
    **dict.fromkeys(SERVER_TOOL_RESULTS, _ServerToolResult),
    **_UPLOADS,
}
"""Blocks that are sent back unchanged. Texts, images, thinking and calls have views."""

LONGEST_CALL_ID: Final = 64
LONGEST_TOOL_NAME: Final = 128
_Written = Annotated[str, msgspec.Meta(pattern=r"[^\s\ufeff]")]


class _Sound(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A block that the API takes as it is: with only the fields that it accepts."""


class SoundText(_Sound, frozen=True, gc=False, tag_field="type", tag="text"):
    """A text that is not blank."""

    text: _Written


class SoundThinking(_Sound, frozen=True, gc=False, tag_field="type", tag="thinking"):
    """Signed reasoning."""

    thinking: str
    signature: Filled


class SoundRedactedThinking(_Sound, frozen=True, gc=False, tag_field="type", tag="redacted_thinking"):
    """Encrypted reasoning."""

    data: Filled


class SoundToolUse(_Sound, frozen=True, gc=False, tag_field="type", tag="tool_use"):
    """A call; its input is still to be checked."""

    id: Annotated[str, msgspec.Meta(pattern=rf"^[a-zA-Z0-9_-]{{1,{LONGEST_CALL_ID}}}\Z")]
    name: Annotated[str, msgspec.Meta(pattern=rf"^[a-zA-Z0-9_-]{{1,{LONGEST_TOOL_NAME}}}\Z")]
    input: msgspec.Raw
    caller: dict[str, str] | UnsetType = UNSET
    toolset_name: str | UnsetType = UNSET


class SoundToolResult(_Sound, frozen=True, gc=False, tag_field="type", tag="tool_result"):
    """A call's result in words."""

    tool_use_id: str
    content: _Written | Annotated[list[SoundText], msgspec.Meta(min_length=1)]
    is_error: bool = False


SoundBlock = SoundText | SoundThinking | SoundRedactedThinking | SoundToolUse | SoundToolResult
_decode_sound: Final[Callable[[bytes], SoundBlock]] = msgspec.json.Decoder(SoundBlock).decode


def sound_block(raw: bytes) -> SoundBlock | None:
    """Return a block if the API takes its JSON as it is, apart from a call's input, else None."""
    try:
        return _decode_sound(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
