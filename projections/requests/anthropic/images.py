"""Choose the images that a request can hold, and replace the others."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Final

import msgspec

from projections.requests.anthropic.repairs import RepairRule
from projections.requests.image_header import ImageHeader, image_header

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


def _too_large(image: Picture, why: str = "") -> Refusal:
    return Refusal(RepairRule.IMAGE_SIZE, f"it has {image.header.width} x {image.header.height} pixels{why}")
