"""Put Claude Code's messages in a request's form: joined, in turns, content replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any, Final

import msgspec
from msgspec import Raw

from eventstore.harnesses import format_of
from eventstore.harnesses.claude_code.api_message import content_of, is_result, items_of, wire_of
from eventstore.harnesses.claude_code.meaning import RENDERED, Rendered, rendered_of
from eventstore.harnesses.claude_code.record import VERSION
from eventstore.javascript import stringify, tolerant_decoder, tolerant_json
from eventstore.records import FORMAT, TextReplacement
from projections.context.parts import Part
from projections.placements import substitute_text

Json = dict[str, Any]


class _Grouped(msgspec.Struct, frozen=True, gc=False):
    id: str | None = None


_grouped: Final = tolerant_decoder(_Grouped)


def group_in(part: Part) -> tuple[str, str]:
    """Return the session and message that an assistant part is a block of; "" for other parts."""
    is_ours = part.role == "assistant" and part.format == VERSION
    return part.session, group_of(part.raw) if is_ours else ""


def group_of(message: bytes) -> str:
    """Return the id by which an assistant's messages of one answer are known, "" for none."""
    return _grouped(message).id or ""


def joined(parts: Sequence[Part]) -> Part:
    """Join blocks of one message, with the other fields of the last."""
    if len(parts) == 1:
        return parts[0]
    fields = _raw_fields(parts[-1].raw)
    contents = [content_of(wire_of(part.raw)) for part in parts[:-1]]
    blocks = [
        item for content in (*contents, bytes(fields.get("content", b""))) for item in items_of(content)
    ]
    fields["content"] = Raw(b"[%s]" % b",".join(blocks))
    return parts[0].merged_with(msgspec.json.encode(fields), parts[1:])


def _raw_fields(message: bytes) -> dict[str, Raw]:
    try:
        message.decode()
        return msgspec.json.decode(message, type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        decoded = tolerant_json(message)
        return {name: Raw(encoded(value)) for name, value in decoded.items()}


def encoded(value: object) -> bytes:
    """Return a value as JSON, with lone surrogates escaped."""
    return stringify(value).encode("utf-8", "replace")


def attachments_first(parts: Sequence[Part]) -> Sequence[Part]:
    """Move rendered attachments up past prompts, to behind an answer or a result."""
    if not any(part.raw.startswith(RENDERED) for part in parts):
        return parts
    found: list[Part] = []
    attached: list[Part] = []
    for part in reversed(parts):
        if part.raw.startswith(RENDERED):
            attached.append(part)
            continue
        if part.role in ("assistant", "toolResult"):
            found += attached
            attached = []
        found.append(part)
    found += attached
    found.reverse()
    return found


def without_calls_left_out(parts: Sequence[Part]) -> Sequence[Part]:
    """Return parts without results right behind a compaction that left out their calls."""
    roles = [part.role for part in takewhile(lambda part: part.role != "assistant", parts)]
    if "compactionSummary" not in roles or "toolResult" not in roles:
        return parts
    return [part for at, part in enumerate(parts) if at >= len(roles) or part.role != "toolResult"]


def lines_ended(parts: Sequence[Part], does: Callable[[Part], bool]) -> Sequence[Part]:
    """End each text before another one of a user message; `does` tells if its version does so.

    `turns` does it beside attachments. Results come first there, so that what lies between two texts may be behind
    none of them.
    """
    found = list(parts)
    for is_answer, run in groupby(range(len(parts)), key=lambda at: parts[at].role == "assistant"):
        places, place = [at for at in run if not _is_result(parts[at])], -1
        # One alone has no text before it.
        if is_answer or len(places) < 2 or any(parts[at].raw.startswith(RENDERED) for at in places):  # noqa: PLR2004
            continue
        for at in places:
            part = parts[at]
            blocks = _blocks(content_of(wire_of(part.raw))) if part.format == VERSION else []
            if not blocks:
                place = -1
                continue
            if place >= 0 and _said(blocks[0]) and does(part):
                found[place] = _with_line_end(found[place])
            others = [block for block in blocks if not (b'"tool_result"' in block and is_result(block))]
            if others:
                place = at if _said(others[-1]) else -1
    return found


def _is_result(part: Part) -> bool:
    return part.role == "toolResult" and part.format == VERSION


def _said(block: bytes) -> bool:
    return b'"text"' in block and isinstance(tolerant_json(block).get("text"), str)


def _with_line_end(part: Part) -> Part:
    fields = tolerant_json(part.raw)
    blocks = [tolerant_json(block) for block in _blocks(content_of(wire_of(part.raw)))]
    last = next(block for block in reversed(blocks) if block.get("type") != "tool_result")
    last["text"] += "\n"
    content = last["text"] if isinstance(fields.get("content"), str) else blocks
    return msgspec.structs.replace(part, raw=encoded({**fields, "content": content}), recorded=None)


def is_notice(part: Part) -> bool:
    """Return True for a message that tells the model of a task in the background."""
    return part.role in ("user", "custom") and b'"<task-notification>' in part.raw


def turns(messages: Sequence[bytes]) -> Iterator[bytes]:
    """Yield messages as one request has them: role and content, those of refold's records too."""
    users: list[tuple[bytes, Rendered]] = []
    for message in messages:
        wire = wire_of(message)
        if wire.role != "assistant":
            content = content_of(wire) if wire.role == "user" else _content_of_own(message)
            users.append((content, rendered_of(message)))
            continue
        yield from _user_turns(users)
        users = []
        yield b'{"role":"assistant","content":%s}' % content_of(wire)
    yield from _user_turns(users)


def _user_turns(users: Sequence[tuple[bytes, Rendered]]) -> Iterator[bytes]:
    """Yield the user messages between two answers."""
    if all(how.rendered is None for _, how in users):
        yield from _of_user([content for content, _ in users])
        return
    for turn in _with_attachments(users):
        yield b'{"role":"user","content":%s}' % encoded(turn)


def _with_attachments(users: Sequence[tuple[bytes, Rendered]]) -> list[list[Json]]:
    """Return the blocks of each user message between two answers.

    So versions that render attachments join them.
    An attachment begins a message or joins the last result; what follows text is parted from it by a line end.
    """
    turns: list[list[Json]] = []
    begins = False
    for content, how in users:
        blocks = [tolerant_json(block) for block in _blocks(content)]
        if not turns or (how.rendered and begins):
            turns.append(blocks)
            begins = how.rendered is not None
            continue
        last = turns[-1]
        if how.rendered is None:
            if _is_text(last[-1:]) and _is_text(blocks[:1]):
                last[-1]["text"] += "\n"
            last += blocks
            last.sort(key=lambda block: block.get("type") != "tool_result")
            begins = False
        elif not how.besideResult and last and last[-1].get("type") == "tool_result" and _is_text(blocks):
            last[-1]["content"] = _behind_result(last[-1].get("content"), blocks)
        else:
            last += blocks
        if how.rendered == 0:
            begins = False
    return turns


def _is_text(blocks: Sequence[Any]) -> bool:
    return bool(blocks) and all(
        isinstance(block, dict) and isinstance(block.get("text"), str) for block in blocks
    )


def _behind_result(content: Any, blocks: Sequence[Json]) -> str | list[Json]:
    """Return a result's content with an attachment's texts."""
    texts = [block["text"].strip() for block in blocks]
    if not isinstance(content, list):
        first = content.strip() if isinstance(content, str) else ""
        return "\n\n".join(filter(None, [first, *texts]))
    found = list(content)
    for text in texts:
        if found and _is_text(found[-1:]):
            found[-1] = {**found[-1], "text": found[-1]["text"] + "\n"}
        found.append({"type": "text", "text": text})
    return found


def _content_of_own(message: bytes) -> bytes:
    """Return a request's form of a message from refold's records: a summary, note or result."""
    view = format_of(FORMAT).message(message)
    text = substitute_text(view)
    if text is not None:
        return encoded(text)
    content = content_of(wire_of(message))
    if view.role != "toolResult":
        return content
    block = b'{"tool_use_id":%s,"type":"tool_result","content":%s%s}'
    return b"[" + block % (encoded(view.tool_call_id), content, b',"is_error":true' * view.is_error) + b"]"


def _of_user(contents: Sequence[bytes]) -> Iterator[bytes]:
    """Yield a request's user message with the given contents, tool results first."""
    if len(contents) == 1:
        yield b'{"role":"user","content":%s}' % contents[0]
    elif contents:
        blocks = [block for content in contents for block in _blocks(content)]
        blocks.sort(key=lambda block: b'"tool_result"' not in block or not is_result(block))
        yield b'{"role":"user","content":[%s]}' % b",".join(blocks)


def _blocks(content: bytes) -> list[bytes]:
    return [b'{"type":"text","text":%s}' % content] if content.startswith(b'"') else items_of(content)


def rewritten(message: bytes, shown: Sequence[TextReplacement]) -> bytes:
    """Return a message with content replaced; in a tool result, the tool's output."""
    decoded = tolerant_json(message)
    content = decoded.get("content")
    first = content[0] if isinstance(content, list) and content else None
    result = first if isinstance(first, dict) and first.get("type") == "tool_result" else None
    for change in shown:
        if change.call and (result or {}).get("tool_use_id") != change.call:
            continue
        inner = content if result is None else result.get("content")
        replaced = _replaced(inner, change)
        if result is None:
            content = replaced
        else:
            result["content"] = replaced
    return encoded({**decoded, "content": content})


def _replaced(content: object, change: TextReplacement) -> object:
    block = {"type": "text", "text": change.text}
    if change.block is None or (change.block == 0 and not isinstance(content, list)):
        return change.text if not isinstance(content, list) or change.block is None else [block]
    if isinstance(content, list) and 0 <= change.block < len(content):
        return [*content[: change.block], block, *content[change.block + 1 :]]
    return content
