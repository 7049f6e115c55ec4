"""File operations at the end of a summary, where the next model reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from eventstore.records import FileOperations

_OPENED: Final = re.compile(r"<(read-files|modified-files)>\n")


def with_file_tags(summary: str, files: FileOperations) -> str:
    """A summary with pi's two tags behind it, one path a line; an empty one is left out, older ones are replaced."""
    text = "".join(_without_tags(summary)).rstrip()
    for tag, paths in (("read-files", files.read_files), ("modified-files", files.modified_files)):
        if paths:
            text += f"\n\n<{tag}>\n" + "\n".join(paths) + f"\n</{tag}>"
    return text


def _without_tags(text: str) -> Iterator[str]:
    """What stands between tags, and the line breaks before them gone; one that never closes is none.

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
