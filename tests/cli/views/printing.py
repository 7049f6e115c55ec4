"""Print views as lines of plain text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from cli.terminal import SafeConsole


def printed(view: Callable[..., None], *arguments: Any, width: int = 100) -> list[str]:
    """The lines that a view prints on a terminal of so many columns, without colours."""
    out = SafeConsole(
        file=io.StringIO(), width=width, color_system=None, highlight=False, markup=False, emoji=False
    )
    view(out, *arguments)
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


def figures(*lines: str) -> list[list[str]]:
    """The numbers of each line: counts, shares, dollars and events, as they are written."""
    return [re.findall(r"[-+]?\$?#?\d+(?:,\d{3})*(?:\.\d+)?%?", line) for line in lines]
