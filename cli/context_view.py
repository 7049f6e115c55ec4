"""How a context looks in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.output import counted, cut_line, printable, unbroken

if TYPE_CHECKING:
    from rich.console import Console

    from projections.context.parts import Context, Part
    from projections.tokens import Counter

_LINES: Final = 6
_LONGEST: Final = 400
"""Characters of a line, made from so many at most."""
_LOOKED_AT: Final = 4096
_COLOURS: Final = {
    "user": "green",
    "assistant": "cyan",
    "toolResult": "bright_black",
    "compactionSummary": "magenta",
}


def print_context(out: Console, context: Context, tokens: Counter, *, is_full: bool) -> None:
    """Every message under a line that says what it is, then the totals."""
    from msgspec import UNSET
    from rich.text import Text

    from projections.tokens import is_estimate

    counts = tokens.count(context.parts)
    for part, count in zip(context.parts, counts, strict=True):
        head = Text(f"── {part.role} ", style=f"bold {_COLOURS.get(part.role, 'yellow')}")
        head.append(f"{unbroken(part.id)} #{part.seq}  {counted(count, 'token')}", style="not bold dim")
        if part.fate != "kept":
            head.append(f"  {part.fate}", style="bold yellow")
        out.print(head, crop=False, no_wrap=True, overflow="ignore")
        out.print(printable(_body(part, is_full=is_full)) + "\n", soft_wrap=True)
    model, level = str(context.settings.model or ""), context.settings.thinking_level
    estimate = ", an estimate" if is_estimate(tokens, context.settings.model) else ""
    out.print(
        f"{counted(len(context.parts), 'message')}, {counted(sum(counts), 'token')} ({tokens.name}{estimate})"
        f" at {context.leaf or 'the root'} as of #{context.as_of};"
        f" model {model or 'none'}, thinking {'none' if level is UNSET else level}",
        style="bold",
        crop=False,
        overflow="fold",
    )
    if tokens.note:
        out.print(tokens.note, style="yellow")


def _body(part: Part, *, is_full: bool) -> str:
    from eventstore.formats import view_of_message
    from projections.renderers.text import message_text

    lines = message_text(view_of_message(part.raw)).splitlines()
    if is_full or len(lines) <= _LINES:
        return "\n".join(line if is_full else _cut(line) for line in lines)
    return "\n".join(map(_cut, lines[:_LINES])) + f"\n… {counted(len(lines) - _LINES, 'more line')} (--full)"


def _cut(line: str) -> str:
    return cut_line(line[:_LOOKED_AT], _LONGEST)
