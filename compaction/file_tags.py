"""Write file operations at the end of a summary, where the next model reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from eventstore.records import FileOperations

_OPENED: Final = re.compile(r"<(read-files|modified-files)>\n")
_ENDS_SUMMARY: Final = re.compile(r"<(?=\s*+/\s*+(?:prior-conversation-)?summary\b)", re.IGNORECASE)
"""The closing tag of a summary in a context."""
_ENDS_PATHS: Final = re.compile(r"<(?=\s*+(?:/\s*+)?(?:read|modified)-files\b)", re.IGNORECASE)


def with_file_tags(summary: str, files: FileOperations) -> str:
    r"""Append pi's two file tags to a summary, one path a line, in place of older tags.

    Leave out an empty tag. `<` of a closing tag in the text or in a path becomes `&lt;`, a line break in a
    path becomes `\n`.
    """
    text = "".join(_without_tags(summary)).rstrip()
    for tag, paths in (("read-files", files.read_files), ("modified-files", files.modified_files)):
        if paths:
            text += f"\n\n<{tag}>\n" + "\n".join(map(_line, paths)) + f"\n</{tag}>"
    return _ENDS_SUMMARY.sub("&lt;", text)


def _line(path: str) -> str:
    return _ENDS_PATHS.sub("&lt;", path.replace("\n", "\\n").replace("\r", "\\r"))


def _without_tags(text: str) -> Iterator[str]:
    """Yield the text outside of tags, without the line breaks before them.

    An unclosed tag is text. A tag that was not found once is not searched again, so that the time is linear.
    """
    at = 0
    never_closed: set[str] = set()
    for opened in _OPENED.finditer(text):
        tag = opened[1]
        if opened.start() < at or tag in never_closed:
            continue
        closing = f"\n</{tag}>"
        closed = text.find(closing, opened.end() - 1)
        if closed < 0:
            never_closed.add(tag)
            continue
        yield text[at : opened.start()].rstrip("\n")
        at = closed + len(closing)
    yield text[at:]
