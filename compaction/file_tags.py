"""File operations at the end of a summary, where the next model reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from eventstore.records import FileOperations

_OPENED: Final = re.compile(r"<(read-files|modified-files)>\n")
_ENDS_SUMMARY: Final = re.compile(r"<(?=\s*+/\s*+(?:prior-conversation-)?summary\b)", re.IGNORECASE)
"""An end of the tag that contexts show a summary in."""
_ENDS_PATHS: Final = re.compile(r"<(?=\s*+(?:/\s*+)?(?:read|modified)-files\b)", re.IGNORECASE)


def with_file_tags(summary: str, files: FileOperations) -> str:
    r"""Return a summary with pi's two tags behind it, one path a line; no empty one, and no older ones.

    In the text and in the paths, `<` of what would close a tag around them is shown as `&lt;`, a line end in a path
    as `\n`.
    """
    text = "".join(_without_tags(summary)).rstrip()
    for tag, paths in (("read-files", files.read_files), ("modified-files", files.modified_files)):
        if paths:
            text += f"\n\n<{tag}>\n" + "\n".join(map(_line, paths)) + f"\n</{tag}>"
    return _ENDS_SUMMARY.sub("&lt;", text)


def _line(path: str) -> str:
    return _ENDS_PATHS.sub("&lt;", path.replace("\n", "\\n").replace("\r", "\\r"))


def _without_tags(text: str) -> Iterator[str]:
    """Yield what stands between tags, and the line breaks before them gone; one that never closes is none.

    A tag that was sought in vain is not sought again: the time is linear in the text.
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
