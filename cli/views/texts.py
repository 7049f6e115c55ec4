"""Numbers, times and texts of sessions as people read them."""

from __future__ import annotations

from typing import Final

from cli.output import cut_line, short_paths

SIGNS: Final = {
    "compaction": "∑",
    "branch_summary": "⤷",
    "rewrite": "✂",
    "leaf_moved": "↷",
    "undone": "↶",
    "model_change": "⚙",
    "session_info": "✎",
    "custom_message": "+",
}
"""From the kinds of events that turn a session to their signs."""
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


def percent(share: float | None) -> str:
    """A share for people; "-" where there was nothing to find."""
    return "-" if share is None else f"{share:.0%}"


def part_of(found: int, total: int) -> str:
    """Return how many of how many; "-" where there was nothing to find."""
    return f"{found:,}/{total:,}" if total else "-"


def dollars(amount: float | None, *, is_signed: bool = False) -> str:
    """US dollars for people: to the cent, small ones to the hundredth of one; "-" where they are unknown."""
    if amount is None:
        return "-"
    sign = "-" if amount < 0 else "+" if is_signed else ""
    digits = 2 if amount == 0 or abs(amount) >= 0.1 else 4  # noqa: PLR2004  ten cents
    return f"{sign}${abs(amount):,.{digits}f}"
