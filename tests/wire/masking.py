"""Replace sentences of harnesses, and long outputs, by digests: recorded runs are small and hold no prompts.

Sentences of the scenarios stay. The same text always becomes the same digest, and a digest stays what it is. So
contexts and requests that are equal stay equal, and those that differ stay different, masked before or not.
"""

from __future__ import annotations

import hashlib
import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any, Final

_FEWEST_WORDS: Final = 4
"""Shorter lines are states and names."""
_LONGEST_RUN: Final = 12
"""Numbered lines in a row that stay as they are."""
_TAG: Final = re.compile(r"(</?[a-z][\w-]*>)")
_DIGEST: Final = re.compile(r"\[#[0-9a-f]{12}-(\d+)\]")
_NUMBERED: Final = re.compile(r"[^<]*\d[^<]*")
_NUMBER: Final = re.compile(r"\{\w*\}|\d+")
"""A number in a text, or its place in a scenario's."""
_LINE_END: Final = "\N{FULL BLOCK}"
_OF_SNAPCOMPACT: Final = str.maketrans({_LINE_END: "\n", "\x0e": None, "\x0f": None})
"""The line ends and marks in histories that oh-my-pi keeps, which it sends as usual text."""
_SCRIPTED: Final = "\n".join(
    _NUMBER.sub("#", path.read_text("utf-8")) for path in Path(__file__).parent.glob("scenarios/*.py")
)
_OF_PROMPTS: Final = frozenset(
    "system tools toolsAdded sections systemMessage systemPrompt instructions base_instructions".split()
)
"""Fields that hold a system prompt or definitions of tools."""
_OF_SCHEMAS: Final = frozenset("input_schema parameters".split())


def mask(value: Any) -> Any:
    """Return JSON with sentences that no scenario has, and runs of many numbered lines, as digests."""
    if isinstance(value, dict):
        return {name: mask(each) for name, each in value.items()}
    if isinstance(value, list):
        return [mask(each) for each in value]
    return _mask_text(value) if isinstance(value, str) else value


def mask_prompts(value: Any) -> Any:
    """Return a masked record; everything in its fields of system prompts and tools is replaced by digests."""
    if isinstance(value, dict):
        return {
            name: _in_prompts(each) if name in _OF_PROMPTS else mask_prompts(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [mask_prompts(each) for each in value]
    return mask(value)


def _in_prompts(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: digest(json.dumps(each, sort_keys=True))
            if name in _OF_SCHEMAS and isinstance(each, dict)
            else _in_prompts(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_in_prompts(each) for each in value]
    return digest(value) if isinstance(value, str) and " " in value else value


def _mask_text(text: str) -> str:
    if text[:1] in ("{", "["):
        try:
            return json.dumps(mask(json.loads(text)), ensure_ascii=False)
        except ValueError:
            pass  # only looks like JSON
    if _LINE_END in text:
        return _mask_text(text.translate(_OF_SNAPCOMPACT)).replace("\n", _LINE_END)
    masked: list[str] = []
    for is_numbered, run in groupby(text.split("\n"), key=_is_numbered):
        lines = list(run)
        if is_numbered and len(lines) > _LONGEST_RUN:
            masked.append(digest("\n".join(lines)))
        else:
            masked += ["".join(map(_mask_piece, _TAG.split(line))) for line in lines]
    return "\n".join(masked)


def _is_numbered(line: str) -> bool:
    return bool(_NUMBERED.fullmatch(_DIGEST.sub("", line)))


def _mask_piece(piece: str) -> str:
    stripped = piece.strip()
    if len(stripped.split()) < _FEWEST_WORDS or _NUMBER.sub("#", stripped) in _SCRIPTED:
        return piece
    return piece.replace(stripped, digest(stripped))


def digest(text: str) -> str:
    """Return a short digest of a text and its length, in brackets; it is no JSON."""
    stripped = text.strip()
    return f"[#{hashlib.sha256(stripped.encode()).hexdigest()[:12]}-{len(stripped)}]"


def stretched(text: str) -> str:
    """Return a masked text in which each digest is as long as what it stands for."""
    return _DIGEST.sub(lambda found: found[0].ljust(int(found[1]), "x"), text)
