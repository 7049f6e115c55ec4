"""Choose the images that a request can hold, and replace the others."""

from __future__ import annotations

import binascii
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from eventstore.views import Image, Message, Payload
from projections.requests.repairs import Note, RepairRule

MOST_IMAGES: Final = 100
MOST_DATA: Final = 24 * 2**20
"""Base64 characters of all images; a request has at most 32 MB, and the rest is for text."""
LONGEST_DATA: Final = 5 * 2**20
"""Base64 characters of one image."""
MANY_IMAGES: Final = 20
"""A request with more images has a lower pixel limit."""
LONGEST_SIDE: Final = 8000
LONGEST_SIDE_OF_MANY: Final = 2000

BlockPosition = tuple[int, int]
"""A block of a context: the number of its part, and its index in the part's message."""


class Picture(msgspec.Struct, frozen=True):
    """An image as recorded: its claimed media type, its base64 text, and what its own bytes say."""

    claimed: str
    data: str
    header: ImageHeader

    @property
    def longest_side(self) -> int:
        return max(self.header.width, self.header.height)


class Refusal(msgspec.Struct, frozen=True):
    """Why an image is left out, and the rule behind it."""

    rule: RepairRule
    reason: str


def read_image(claimed: str, data: str) -> Picture | Refusal:
    """Return an image that a request can hold, or the reason why none can."""
    try:
        header = image_header(binascii.a2b_base64(data.encode("ascii"), strict_mode=True))
    except (UnicodeEncodeError, binascii.Error):
        header = None
    if header is None:
        return Refusal(RepairRule.IMAGE_DATA, "its data is not JPEG, PNG, GIF or WebP")
    if len(data) > LONGEST_DATA:
        return Refusal(RepairRule.IMAGE_SIZE, "it has more than 5 MB")
    found = Picture(claimed, data, header)
    return _too_large(found) if found.longest_side > LONGEST_SIDE else found


def select_images(found: Mapping[BlockPosition, Picture | Refusal]) -> dict[BlockPosition, Picture | Refusal]:
    """Choose the images that one request can hold together, the newest if there are too many."""
    images = {place: each for place, each in found.items() if isinstance(each, Picture)}
    refused = dict[BlockPosition, Refusal]()
    size = 0
    for number, place in enumerate(sorted(images, reverse=True)):
        size += len(images[place].data)
        if number >= MOST_IMAGES or size > MOST_DATA:
            refused[place] = Refusal(RepairRule.IMAGE_COUNT, "newer images fill the request")
    if len(images) - len(refused) > MANY_IMAGES:
        large = {place: each for place, each in images.items() if each.longest_side > LONGEST_SIDE_OF_MANY}
        refused = {place: _too_large(each, " among many images") for place, each in large.items()} | refused
    return {**found, **refused}


def images_in(
    messages: Iterable[tuple[Message, Sequence[Payload]]], *, in_errors: bool
) -> dict[BlockPosition, Picture | Refusal]:
    """Return the images of messages, and which of them one request can hold together.

    Payloads are those of the messages' blocks. Without `in_errors`, results of failed calls show none.
    """
    found = {
        (number, place): read_image(block.mime, payload.image)
        for number, (view, payloads) in enumerate(messages)
        if view.role in _SHOW_IMAGES and (in_errors or view.role != "toolResult" or not view.is_error)
        for place, (block, payload) in enumerate(zip(view.blocks, payloads, strict=False))
        if isinstance(block, Image)
    }
    return select_images(found)


_SHOW_IMAGES: Final = ("user", "custom", "toolResult")


def sent_image(image: Picture | Refusal, note: Note) -> Picture | str:
    """Return an image as it is sent, or the text that stands for it."""
    if isinstance(image, Refusal):
        note(image.rule, f"an image is left out: {image.reason}")
        return f"[image left out: {image.reason}]"
    actual = image.header.media_type
    if image.claimed != actual:
        note(RepairRule.IMAGE_TYPE, f"an image recorded as {image.claimed[:80]!r} is sent as {actual}")
    return image


def _too_large(image: Picture, why: str = "") -> Refusal:
    return Refusal(RepairRule.IMAGE_SIZE, f"it has {image.header.width} x {image.header.height} pixels{why}")


class ImageHeader(msgspec.Struct, frozen=True):
    """An image's media type according to its own bytes, and its size in pixels."""

    media_type: str
    width: int
    height: int


def image_header(data: bytes) -> ImageHeader | None:
    """Return the header of a PNG, JPEG, GIF or WebP file; None for others and truncated ones."""
    for media_type, size_of in _READERS.items():
        try:
            size = size_of(data)
        except struct.error:
            return None
        if size is not None:
            return ImageHeader(media_type, *size) if all(size) else None
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif(data: bytes) -> tuple[int, int] | None:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


_STANDALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a length."""
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers of frame headers, which hold the size; the three between them are tables."""


def _jpeg(data: bytes) -> tuple[int, int] | None:
    if data[:3] != b"\xff\xd8\xff":
        return None
    at = 2
    while True:
        mark, marker = struct.unpack_from(">BB", data, at)
        if mark != 0xFF:  # noqa: PLR2004  every marker begins with it
            raise struct.error
        if marker == 0xFF:  # noqa: PLR2004  fill bytes may stand before a marker
            at += 1
        elif marker in _STANDALONE:
            at += 2
        elif marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            at += 2 + length


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        (packed,) = struct.unpack_from("<I", data, 21)
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        low_width, high_width, low_height, high_height = struct.unpack_from("<HBHB", data, 24)
        return (high_width << 16 | low_width) + 1, (high_height << 16 | low_height) + 1
    raise struct.error


_READERS: Final[dict[str, Callable[[bytes], tuple[int, int] | None]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
