"""Read the history that `snapcompact` keeps beside a summary: texts, and pages as images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

Json = dict[str, Any]

_BUDGET: Final = 3_000_000
"""Characters of base64 that the pages of one request may have."""
_LINE_END: Final = "\N{FULL BLOCK}"
_DIM: Final = str.maketrans({"\x0e": None, "\x0f": None})
"""Marks around text that pages show dimly."""


def history_blocks(preserved: Any) -> list[Json] | None:
    """Return the blocks that follow a summary, oldest first; None if nothing was preserved."""
    archive = preserved.get("snapcompact") if isinstance(preserved, dict) else None
    if not isinstance(archive, dict):
        return None
    head, tail = (_plain(archive.get(name)) for name in ("textHead", "textTail"))
    frames = [frame for frame in _listed(archive.get("frames")) if _is_page(frame)]
    pages = list(_pages(frames))
    has_images = any(page["type"] == "image" for page in pages)
    is_shortened = len(pages) != len(frames) or _count(archive.get("truncatedChars")) > 0
    blocks: list[Json] = []
    if head:
        blocks.append(_text(head + "\n-------------- imaged middle below\n" * has_images))
    blocks += pages
    if tail:
        above = "\n-------------- middle history omitted above\n" if is_shortened else ""
        tail = ("-------------- imaged middle above\n" if has_images else above) + tail
        if blocks and blocks[-1]["type"] == "text":
            blocks[-1]["text"] += tail
        else:
            blocks.append(_text(tail))
    return blocks or None


def _pages(frames: list[Json]) -> Iterator[Json]:
    """Yield the newest pages that one request may hold, with a notice in place of the others."""
    left, fitting = _BUDGET, set[int]()
    for place in reversed(range(len(frames))):
        if len(frames[place]["data"]) <= left:
            left -= len(frames[place]["data"])
            fitting.add(place)
    omitted: list[int] = []
    for place, frame in enumerate(frames):
        if place not in fitting:
            omitted.append(len(frame["data"]))
            continue
        if omitted:
            yield _notice(omitted)
            omitted = []
        detail = {"detail": frame["detail"]} if frame.get("detail") else {}
        yield {"type": "image", "data": frame["data"], "mimeType": frame["mimeType"], **detail}
    if omitted:
        yield _notice(omitted)


def _notice(sizes: list[int]) -> Json:
    frames = f"{len(sizes):,} archived image frame{'' if len(sizes) == 1 else 's'}"
    return _text(
        f"-------------- snapcompact image middle omitted\n{frames} could not be included. "
        f"{_amount(sum(sizes))} of base64 exceeded the per-request snapcompact payload budget. "
        "The compacted summary and visible text edges remain available.\n--------------"
    )


def _amount(size: int) -> str:
    for unit, name in ((1_000_000, "MB"), (1_000, "KB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"


def _is_page(frame: Any) -> bool:
    return (
        isinstance(frame, dict)
        and isinstance(frame.get("data"), str)
        and frame["data"] != ""
        and isinstance(frame.get("mimeType"), str)
    )


def _plain(text: Any) -> str:
    return text.translate(_DIM).replace(_LINE_END, "\n") if isinstance(text, str) else ""


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(value: Any) -> float:
    return value if isinstance(value, int | float) else 0
