"""Texts of sessions as the page shows them: cut, never whole where that would be too much."""

from __future__ import annotations

from typing import Final

from cli.output import cut_line, short_paths

LONGEST_TEXT: Final = 4000
"""Characters of an event's text on the page, unless all is asked for."""
LONGEST_LINE: Final = 240
"""Characters of the line that stands for an event."""
_SEEN: Final = 60
"""Characters of a line that the page has room for, about: it hides the end of a longer one."""
_LOOKED_AT: Final = 4096


def cut(text: str, longest: int) -> tuple[str, int]:
    """The beginning of a text, and how many characters are left out."""
    return text[:longest], max(len(text) - longest, 0)


def line_of(text: str, longest: int = LONGEST_LINE) -> str:
    """Return a text on one line: long paths in it give way first, then its end."""
    # More than is shown, for runs of spaces become one; not all, for a text may be huge.
    looked_at = max(longest * 8, _LOOKED_AT)
    line = " ".join(text[:looked_at].split())
    whole = len(text) <= looked_at
    line = line if whole else f"{line}…"
    return cut_line(short_paths(line) if len(line) > _SEEN else line, longest)
