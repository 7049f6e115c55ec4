"""What the view of a content block leaves out, for those who hand a block on instead of reading it."""

from __future__ import annotations

import msgspec


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded block of a message: its JSON, an image's base64 text, whether thinking is encrypted.

    The encrypted text of redacted thinking is its signature.
    """

    raw: bytes
    image: str = ""
    is_redacted: bool = False
