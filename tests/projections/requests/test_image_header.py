"""Read format and size from the headers of image files."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.requests.images import ImageHeader, image_header
from tests.support.pictures import gif, jpeg, png, webp

WEBP_LOSSY = webp(b"VP8 ", b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 300 | 1 << 14, 200 | 2 << 14))
WEBP_LOSSLESS = webp(b"VP8L", b"\x2f" + struct.pack("<I", 299 | 199 << 14 | 1 << 28))
WEBP_EXTENDED = webp(
    b"VP8X", b"\x10\x00\x00\x00" + (70_000 - 1).to_bytes(3, "little") + (199).to_bytes(3, "little")
)
EXIF_WITH_A_PREVIEW = b"\xff\xe1" + struct.pack(">H", 2 + len(jpeg(9, 9))) + jpeg(9, 9)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(300, 200), ImageHeader("image/png", 300, 200)),
        (gif(300, 200), ImageHeader("image/gif", 300, 200)),
        (jpeg(300, 200), ImageHeader("image/jpeg", 300, 200)),
        (jpeg(300, 200, before=EXIF_WITH_A_PREVIEW), ImageHeader("image/jpeg", 300, 200)),
        (jpeg(300, 200, before=b"\xff\xff\xff\xdb\x00\x04ab"), ImageHeader("image/jpeg", 300, 200)),
        (jpeg(300, 200, before=b"\xff\xc4\x00\x09ABCDEFG\xff\x01"), ImageHeader("image/jpeg", 300, 200)),
        (WEBP_LOSSY, ImageHeader("image/webp", 300, 200)),
        (WEBP_LOSSLESS, ImageHeader("image/webp", 300, 200)),
        (WEBP_EXTENDED, ImageHeader("image/webp", 70_000, 200)),
    ],
)
def test_a_header_says_format_and_size(data: bytes, expected: ImageHeader) -> None:
    assert image_header(data) == expected


@pytest.mark.parametrize(
    "data",
    [b"", b"ABC", b"BM" + b"\x00" * 60, b"%PDF-1.7", webp(b"ALPH", b"\x00" * 20), png(0, 200), gif(300, 0)],
)
def test_what_is_no_image_with_a_size_has_no_header(data: bytes) -> None:
    assert image_header(data) is None


@pytest.mark.parametrize("data", [png()[:20], gif()[:8], jpeg()[:12], WEBP_LOSSY[:28], WEBP_EXTENDED[:25]])
def test_a_file_that_is_cut_off_has_no_header(data: bytes) -> None:
    assert image_header(data) is None


def test_a_jpeg_without_a_frame_has_no_header() -> None:
    assert image_header(b"\xff\xd8\xff\xfe\x00\x04ab" + b"no marker") is None


@given(
    start=st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"RIFF"]),
    rest=st.binary(max_size=60),
)
def test_any_bytes_have_a_header_with_a_size_or_none(start: bytes, rest: bytes) -> None:
    header = image_header(start + rest)
    assert header is None or (header.width > 0 and header.height > 0)
