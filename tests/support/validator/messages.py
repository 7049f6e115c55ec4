"""Check a body's messages: order, calls and results, texts, thinking and images."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from projections.requests.images import image_header
from projections.requests.rendered import Violation
from tests.support.validator.schema import (
    SERVER_RESULTS,
    THINKING,
    ApiRule,
    CheckedMessage,
    Located,
    inner,
)

_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_SERVER_TOOL_ID: Final = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_SERVER_TOOLS: Final = frozenset(
    """
    web_search web_fetch code_execution bash_code_execution text_editor_code_execution
    tool_search_tool_regex tool_search_tool_bm25
    """.split()
)


def check_order(turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check that the user begins and that the roles alternate."""
    first = turns[0]
    if first.role != "user" and not _stands_for_what_came_before(first.blocks[0]):
        yield Violation(
            rule=ApiRule.FIRST_MESSAGE, path=first.path, problem="the first message is the assistant's"
        )
    for before, turn in pairwise(turns):
        if turn.role == before.role:
            problem = f"two {turn.role} messages in a row"
            yield Violation(rule=ApiRule.ALTERNATION, path=turn.path, problem=problem)


def _stands_for_what_came_before(first: Located) -> bool:
    return first.type == "compaction" and bool(first.block["content"])


def check_names(turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check the spelling of call ids and tool names, and that no id occurs twice."""
    taken: set[str] = set()
    for turn in turns:
        for call in _of_type(turn, "tool_use"):
            call_id = call.block["id"]
            if not _CALL_ID.fullmatch(call_id):
                yield Violation(
                    rule=ApiRule.CALL_ID,
                    path=f"{call.path}.id",
                    problem="an id has 1 to 64 letters, digits, _ and -",
                )
            if not _TOOL_NAME.fullmatch(call.block["name"]):
                path = f"{call.path}.name"
                yield Violation(
                    rule=ApiRule.TOOL_NAME,
                    path=path,
                    problem="a tool name has 1 to 128 letters, digits, _ and -",
                )
            if call_id in taken:
                path = f"{call.path}.id"
                yield Violation(
                    rule=ApiRule.DUPLICATE_CALL_ID, path=path, problem="an earlier call has this id"
                )
            taken.add(call_id)


def check_results(turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check that every call is answered exactly once, at the start of the next message."""
    around = [None, *turns, None]
    for before, turn, after in zip(around, turns, around[2:], strict=False):
        yield from _answers(turn, before)
        answered = {result.block["tool_use_id"] for result in _of_type(after, "tool_result")}
        for call in _of_type(turn, "tool_use"):
            if call.block["id"] not in answered:
                problem = "the next message has no result of this call"
                yield Violation(rule=ApiRule.MISSING_RESULT, path=call.path, problem=problem)


def _answers(turn: CheckedMessage, before: CheckedMessage | None) -> Iterator[Violation]:
    called = {call.block["id"] for call in _of_type(before, "tool_use")}
    answered: set[str] = set()
    for place, result in enumerate(turn.blocks):
        if result.type != "tool_result":
            continue
        call_id = result.block["tool_use_id"]
        if call_id not in called:
            problem = "the previous message has no call with this id"
            yield Violation(rule=ApiRule.ORPHAN_RESULT, path=result.path, problem=problem)
        if call_id in answered:
            problem = "the call already has a result"
            yield Violation(rule=ApiRule.DUPLICATE_RESULT, path=result.path, problem=problem)
        answered.add(call_id)
        if place and turn.blocks[place - 1].type != "tool_result":
            problem = "other content comes before a result"
            yield Violation(rule=ApiRule.RESULT_ORDER, path=result.path, problem=problem)


def check_errors(turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check that a failed call's result is not empty."""
    for turn in turns:
        for result in _of_type(turn, "tool_result"):
            if result.block.get("is_error") and not result.block.get("content"):
                problem = "a failed call's result is empty"
                yield Violation(rule=ApiRule.EMPTY_ERROR, path=result.path, problem=problem)


def check_server_tools(turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check that a server tool's call and result share a message, in order, with API names."""
    for turn in turns:
        waiting: dict[str, str] = {}
        for located in turn.blocks:
            if located.type == "server_tool_use":
                yield from _spelling(located)
                waiting[located.block["id"]] = located.path
            elif located.type in SERVER_RESULTS and not waiting.pop(located.block["tool_use_id"], ""):
                problem = "no earlier server tool call has this id"
                yield Violation(rule=ApiRule.SERVER_TOOL, path=located.path, problem=problem)
        for path in waiting.values():
            yield Violation(
                rule=ApiRule.SERVER_TOOL, path=path, problem="its result is not in the same message"
            )


def _spelling(call: Located) -> Iterator[Violation]:
    if not _SERVER_TOOL_ID.fullmatch(call.block["id"]):
        problem = "a server tool call's id has another form"
        yield Violation(rule=ApiRule.SERVER_TOOL, path=f"{call.path}.id", problem=problem)
    if call.block["name"] not in _SERVER_TOOLS:
        problem = "no server tool has this name"
        yield Violation(rule=ApiRule.SERVER_TOOL, path=f"{call.path}.name", problem=problem)


def _of_type(turn: CheckedMessage | None, type_: str) -> list[Located]:
    return [located for located in turn.blocks if located.type == type_] if turn else []


def check_texts(turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check that no text is blank and no final assistant message ends in white space."""
    for turn in turns:
        for located in turn.blocks:
            yield from _blank(located)
            for each in inner(located) if located.type == "tool_result" else ():
                yield from _blank(each)
    last = turns[-1].blocks[-1]
    text = last.block.get("text", "")
    if turns[-1].role == "assistant" and last.type == "text" and text.strip() and text != text.rstrip():
        yield Violation(
            rule=ApiRule.FINAL_SPACE, path=last.path, problem="the last message ends in white space"
        )


def _blank(located: Located) -> Iterator[Violation]:
    if located.type == "text" and not located.block["text"].strip():
        yield Violation(rule=ApiRule.BLANK_TEXT, path=located.path, problem="the text is blank")


def check_thinking(turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check that thinking is signed and that something follows it."""
    for turn in turns:
        for located in turn.blocks:
            seal = {"thinking": "signature", "redacted_thinking": "data"}.get(located.type)
            if seal and not located.block[seal]:
                path = f"{located.path}.{seal}"
                yield Violation(rule=ApiRule.UNSIGNED_THINKING, path=path, problem="it is empty")
        if turn.blocks[-1].type in THINKING:
            problem = "a message ends in thinking"
            yield Violation(rule=ApiRule.FINAL_THINKING, path=turn.blocks[-1].path, problem=problem)


def check_compaction(turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check that at most one compaction block has content, and that it comes first."""
    first = turns[0].blocks[0]
    for turn in turns:
        for located in turn.blocks:
            if located.type == "compaction" and located.block["content"] and located is not first:
                problem = "a compaction block is not first in the conversation"
                yield Violation(rule=ApiRule.COMPACTION_BLOCK, path=located.path, problem=problem)


_MOST: Final = 100
_LONGEST: Final = 5 * 1024 * 1024
_MANY: Final = 20
_PIXELS: Final = 8000
_PIXELS_OF_MANY: Final = 2000
_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def check_images(turns: Sequence[CheckedMessage]) -> Iterator[Violation]:
    """Check the number, size and type of images; failed calls may have none."""
    images = list(_images(turns))
    if len(images) > _MOST:
        problem = f"there are {len(images)} images"
        yield Violation(rule=ApiRule.IMAGE_COUNT, path="messages", problem=problem)
    pixels = _PIXELS_OF_MANY if len(images) > _MANY else _PIXELS
    for image in images:
        yield from _check_source(f"{image.path}.source", image.block["source"], pixels)
    for result in (located for turn in turns for located in turn.blocks if located.type == "tool_result"):
        if result.block.get("is_error"):
            for each in inner(result):
                if each.type != "text":
                    problem = "a failed call's result holds more than text"
                    yield Violation(rule=ApiRule.IMAGE_IN_ERROR, path=each.path, problem=problem)


def _images(turns: Sequence[CheckedMessage]) -> Iterator[Located]:
    for turn in turns:
        for located in turn.blocks:
            yield from _images_in(located)


def _images_in(located: Located) -> Iterator[Located]:
    """Return the images that a block is or holds, in results and in documents."""
    if located.type == "image":
        yield located
    elif located.type == "tool_result":
        for each in inner(located):
            yield from _images_in(each)
    elif located.type == "document":
        source = Located(f"{located.path}.source", located.block["source"])
        yield from (each for each in inner(source) if each.type == "image")


def _check_source(path: str, source: dict[str, Any], pixels: int) -> Iterator[Violation]:
    kind, media_type, data = (source.get(name) for name in ("type", "media_type", "data"))
    if kind in ("url", "file"):
        return
    if kind != "base64" or not isinstance(data, str):
        yield Violation(rule=ApiRule.IMAGE_DATA, path=path, problem="it is not base64, a URL or a file")
        return
    if media_type not in _TYPES:
        path_of_type = f"{path}.media_type"
        yield Violation(
            rule=ApiRule.IMAGE_TYPE, path=path_of_type, problem="it is not JPEG, PNG, GIF or WebP"
        )
    if len(data) > _LONGEST:
        yield Violation(
            rule=ApiRule.IMAGE_SIZE, path=f"{path}.data", problem=f"it has {len(data):,} characters"
        )
    header = image_header(_decoded(data))
    if header is None:
        yield Violation(rule=ApiRule.IMAGE_DATA, path=f"{path}.data", problem="it is not a readable image")
        return
    if media_type in _TYPES and header.media_type != media_type:
        problem = f"the image is {header.media_type}"
        yield Violation(rule=ApiRule.IMAGE_TYPE, path=f"{path}.media_type", problem=problem)
    if max(header.width, header.height) > pixels:
        problem = f"it is {header.width} x {header.height} pixels, more than {pixels:,}"
        yield Violation(rule=ApiRule.IMAGE_SIZE, path=f"{path}.data", problem=problem)


def _decoded(data: str) -> bytes:
    """Decode base64; return nothing for invalid data."""
    try:
        return binascii.a2b_base64(data.encode("ascii"), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error):
        return b""
