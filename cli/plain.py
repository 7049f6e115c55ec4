"""What an output gets of characters that its encoding lacks."""

from __future__ import annotations

import codecs
from io import TextIOWrapper
from typing import Final, TextIO

HANDLER: Final = "refold.plain"
"""The name under which `str.encode` and text streams find `in_plain`."""

_PLAIN: Final = {
    **dict(zip("▁▂▃▄▅▆▇█░", "....:::#.", strict=True)),
    **dict(zip("│└─·●∑⤷✂↷↶⚙✎✗", "|+--*S>%^u=~x", strict=True)),
    **dict(zip("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--", strict=True)),
    "…": "...",
    "←": "<-",
    "→": "->",
}
"""What refold draws with, and the punctuation of prose."""


def in_plain(error: UnicodeError) -> tuple[str, int]:
    """An error handler of codecs: what cannot be encoded in ASCII, by a like sign or as an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each) or _escape(each) for each in lacking), error.end


def _escape(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode()


def never_failing(stream: TextIO) -> None:
    """Make a text stream write what it can in place of what its encoding lacks, and raise nothing."""
    codecs.register_error(HANDLER, in_plain)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors=HANDLER)
