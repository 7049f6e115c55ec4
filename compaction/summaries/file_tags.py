"""File operations at the end of a summary, where the next model reads them."""

from __future__ import annotations

import re
from typing import Final

from eventstore.records import FileOperations

_TAGS: Final = re.compile(r"\n*<(read-files|modified-files)>\n(?:.*?\n)?</\1>", re.DOTALL)


def with_file_tags(summary: str, files: FileOperations) -> str:
    """A summary with pi's two tags behind it, one path a line; an empty one is left out, older ones are replaced."""
    text = _TAGS.sub("", summary).rstrip()
    for tag, paths in (("read-files", files.read_files), ("modified-files", files.modified_files)):
        if paths:
            text += f"\n\n<{tag}>\n" + "\n".join(paths) + f"\n</{tag}>"
    return text
