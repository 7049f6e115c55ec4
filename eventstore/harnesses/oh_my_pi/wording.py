"""Word messages as oh-my-pi sends them.

These are its summaries, and what a person said while the model worked; others are sent as recorded.
"""

from __future__ import annotations

import re
from typing import Any, Final

from eventstore.harnesses.pi.message import content_blocks
from eventstore.harnesses.refold.blocks import sound_block
from eventstore.javascript import stringify, text_or_empty, tolerant_json
from eventstore.views import ApiMessage, Message, Payload

Json = dict[str, Any]

_SUMMARY: Final = """\
Prior model work/tool state available.
MUST build on prior work; NEVER duplicate prior work.

<summary>
{}
</summary>"""
_HANDOFF: Final = """\
Context replaced. The <handoff> below is a handoff document a prior instance of you wrote from the full \
conversation. It is your own working memory, not user input.
- First person inside it refers to you (the prior instance).
- "Next Steps" is your own resumed plan; re-check it against the latest user message before acting.
- The handoff already exists and is complete: NEVER write another handoff document unless the user explicitly asks.
MUST build on prior work; NEVER duplicate prior work.

<handoff>
{}
</handoff>"""
_BRANCH: Final = """\
Branch-return summary:

<summary>
{}
</summary>"""
_INTERJECTION: Final = """\
<system-notice>
User interjection during work: priority; supersedes conflicting prior instructions. Re-read; ensure current work \
reflects user intent.
</system-notice>
{}"""
_WORDED: Final = (b'"compactionSummary"', b'"branchSummary"', b'"steering"', b'"collab-prompt"')
"""One of them is in each message that oh-my-pi words itself."""


def worded(raw: bytes) -> ApiMessage | None:
    """Return a message as oh-my-pi words it; None if it is sent as recorded."""
    if not any(mark in raw for mark in _WORDED):
        return None
    message = tolerant_json(raw)
    content = _content(message) if isinstance(message, dict) else None
    if content is None:
        return None
    view = Message(role="user", blocks=content_blocks(stringify(content).encode()))
    return ApiMessage(view, list(map(_payload, content)))


def _payload(block: Json) -> Payload:
    raw = stringify(block).encode()
    is_sound = sound_block(raw) is not None
    return Payload(raw=raw, image=text_or_empty(block.get("data")), is_sound=is_sound)


def _content(message: Json) -> list[Json] | None:
    role = message.get("role")
    if role == "compactionSummary":
        summary, blocks = text_or_empty(message.get("summary")), message.get("blocks")
        if isinstance(blocks, list):
            return [_text(summary), *(block for block in blocks if isinstance(block, dict))]
        return [_text(_filled(_HANDOFF if message.get("method") == "handoff" else _SUMMARY, summary))]
    if role == "branchSummary":
        return [_text(_filled(_BRANCH, text_or_empty(message.get("summary"))))]
    is_of_guest = message.get("customType") == "collab-prompt" and message.get("attribution") == "user"
    if (role == "user" and message.get("steering") is True) or (role == "custom" and is_of_guest):
        return _interjected(message.get("content"))
    return None


def _interjected(content: Any) -> list[Json] | None:
    blocks = [_text(content)] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return None
    typed = [block for block in blocks if isinstance(block, dict)]
    said = "\n".join(text_or_empty(block.get("text")) for block in typed if block.get("type") == "text")
    images = [block for block in typed if block.get("type") == "image"]
    return [_text(_filled(_INTERJECTION, said)), *images] if said else None


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _filled(template: str, text: str) -> str:
    return formatted(template.format(text))


_CLOSING_TAG: Final = re.compile(r"</[a-z_-]+>")
_TABLE_RULE: Final = re.compile(r"\|[-:\s|]+\|")


def formatted(text: str) -> str:
    """Return a text as oh-my-pi formats what it fills into a template.

    Outside fences, two blank lines or more go, as do those before a closing tag; tables lose their padding.
    """
    lines, kept, in_fence, place = text.split("\n"), list[str](), False, 0
    while place < len(lines):
        line = lines[place].rstrip()
        bare = line.lstrip()
        place += 1
        if bare.startswith(("```", "~~~")):
            in_fence = not in_fence
        elif in_fence:
            pass
        elif not bare:
            end = place
            while end < len(lines) and not lines[end].strip():
                end += 1
            if end > place or end == len(lines):
                _drop_blank(kept)
                place = end
                continue
            if not kept or not kept[-1]:
                continue
        elif _CLOSING_TAG.fullmatch(bare):
            _drop_blank(kept)
        elif bare.startswith("|") and bare.endswith("|") and len(bare) > 1:
            line = line[: -len(bare)] + _compact_row(bare)
        kept.append(line)
    _drop_blank(kept)
    return "\n".join(kept)


def _drop_blank(lines: list[str]) -> None:
    while lines and not lines[-1]:
        lines.pop()


def _compact_row(row: str) -> str:
    if not _TABLE_RULE.fullmatch(row):
        return "|".join(cell.strip() for cell in row.split("|"))
    cells = [cell.strip() for cell in row.split("|") if cell.strip()]
    return f"|{'|'.join(':' * cell.startswith(':') + '---' + ':' * cell.endswith(':') for cell in cells)}|"
