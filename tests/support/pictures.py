"""Image files of any size, down to what their first bytes say, and their base64 text."""

from __future__ import annotations

import struct
from base64 import b64encode
from zlib import crc32


def png(width: int = 2, height: int = 3, *, size: int = 0) -> bytes:
    """A PNG without pixels; of at least so many bytes."""
    content = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", content) + _chunk(b"tEXt", b"x" * size) + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc32(kind + content))


def gif(width: int = 2, height: int = 3) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00;"


def jpeg(width: int = 2, height: int = 3, *, before: bytes = b"") -> bytes:
    """A JPEG up to its frame header; `before` are segments that stand before it."""
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + b"\x00" * 9 + before + frame + b"\xff\xd9"


def webp(kind: bytes, content: bytes) -> bytes:
    """A WebP file of one chunk."""
    chunk = kind + struct.pack("<I", len(content)) + content
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def base64(content: bytes) -> str:
    return b64encode(content).decode()
