"""Numbers, times and texts of sessions as people read them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from cli.output import cut_line, printable, short_paths, unbroken

if TYPE_CHECKING:
    from rich.console import Console


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


INDENT: Final = 12


def print_line(out: Console, text: str, *, style: str = "") -> None:
    """A text of any length; it goes on in the next line where the terminal ends."""
    out.print(text, style=style, crop=False, overflow="fold")


def print_rule(
    out: Console, heading: str, event_id: str, seq: int, time: str | None, *, is_undone: bool = False
) -> None:
    """The heading above what is told of an event."""
    from rich.text import Text

    line = Text(f"── {heading} ", style="bold magenta")
    line.append(f"{unbroken(event_id)} #{seq}  {day_and_time(time)}", style="not bold dim")
    if is_undone:
        line.append("  undone", style="bold yellow")
    out.print(line, crop=False, no_wrap=True, overflow="ignore")


def print_field(out: Console, name: str, value: str, *, style: str = "") -> None:
    """A name and a value; a long value goes on below its beginning."""
    from rich.text import Text

    text = Text(unbroken(value), style=f"not dim {style}")
    value_lines = text.wrap(out, max(out.width - INDENT, 20), overflow="fold")
    for number, value_line in enumerate(value_lines):
        line = Text(f"   {'' if number else name:<9}", style="dim")
        value_line.rstrip()
        line.append_text(value_line)
        out.print(line, crop=False, no_wrap=True, overflow="ignore")


def print_summary(out: Console, text: str) -> None:
    """The text of a summary, below the values of fields."""
    for line in printable(text).strip().splitlines():
        for part in textwrap.wrap(line, max(out.width - INDENT, 20)) or [""]:
            print_line(out, f"{' ' * INDENT}{part}".rstrip(), style="italic")


def day_and_time(time: str | None) -> str:
    """A time for people: UTC, to the second; "-" where it is unknown."""
    return time[:19].replace("T", " ") if time else "-"


def percent(share: float | None) -> str:
    """A share for people; "-" where there was nothing to find."""
    return "-" if share is None else f"{share:.0%}"


def part_of(found: int, total: int) -> str:
    """How many of how many; "-" where there was nothing to find."""
    return f"{found:,}/{total:,}" if total else "-"


def dollars(amount: float | None, *, is_signed: bool = False) -> str:
    """US dollars for people: to the cent, small ones to the hundredth of one; "-" where they are unknown."""
    if amount is None:
        return "-"
    sign = "-" if amount < 0 else "+" if is_signed else ""
    digits = 2 if amount == 0 or abs(amount) >= 0.1 else 4  # noqa: PLR2004  ten cents
    return f"{sign}${abs(amount):,.{digits}f}"
