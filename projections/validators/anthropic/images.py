"""Rules of images."""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Sequence
from typing import Any, Final

from projections.image_header import image_header
from projections.validators.anthropic.blocks import Located, Turn, inner
from projections.validators.anthropic.rules import Rule
from projections.validators.violation import Violation

_MOST: Final = 100
_LONGEST: Final = 5 * 1024 * 1024
_MANY: Final = 20
_PIXELS: Final = 8000
_PIXELS_OF_MANY: Final = 2000
_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def check_images(turns: Sequence[Turn]) -> Iterator[Violation]:
    """Images are few enough, small enough, and what they say they are; failed calls have none."""
    images = list(_images(turns))
    if len(images) > _MOST:
        problem = f"there are {len(images)} images"
        yield Violation(rule=Rule.IMAGE_COUNT, path="messages", problem=problem)
    pixels = _PIXELS_OF_MANY if len(images) > _MANY else _PIXELS
    for image in images:
        yield from _check_source(f"{image.path}.source", image.block["source"], pixels)
    for result in (located for turn in turns for located in turn.blocks if located.type == "tool_result"):
        if result.block.get("is_error"):
            for each in inner(result):
                if each.type != "text":
                    problem = "a failed call's result holds more than text"
                    yield Violation(rule=Rule.IMAGE_IN_ERROR, path=each.path, problem=problem)


def _images(turns: Sequence[Turn]) -> Iterator[Located]:
    for turn in turns:
        for located in turn.blocks:
            yield from _images_in(located)


def _images_in(located: Located) -> Iterator[Located]:
    """The images that a block is or holds, in results and in documents."""
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
        yield Violation(rule=Rule.IMAGE_DATA, path=path, problem="it is no base64, no URL and no file")
        return
    if media_type not in _TYPES:
        path_of_type = f"{path}.media_type"
        yield Violation(rule=Rule.IMAGE_TYPE, path=path_of_type, problem="it is not JPEG, PNG, GIF or WebP")
    if len(data) > _LONGEST:
        yield Violation(rule=Rule.IMAGE_SIZE, path=f"{path}.data", problem=f"it has {len(data):,} characters")
    header = image_header(_decoded(data))
    if header is None:
        yield Violation(rule=Rule.IMAGE_DATA, path=f"{path}.data", problem="it is no image that can be read")
        return
    if media_type in _TYPES and header.media_type != media_type:
        problem = f"the image is {header.media_type}"
        yield Violation(rule=Rule.IMAGE_TYPE, path=f"{path}.media_type", problem=problem)
    if max(header.width, header.height) > pixels:
        problem = f"it is {header.width} x {header.height} pixels, more than {pixels:,}"
        yield Violation(rule=Rule.IMAGE_SIZE, path=f"{path}.data", problem=problem)


def _decoded(data: str) -> bytes:
    """Bytes of base64; none of what is not that."""
    try:
        return binascii.a2b_base64(data.encode("ascii"), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error):
        return b""
