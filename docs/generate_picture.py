"""Draws docs/images/audit.svg, the README's picture: `python docs/generate_picture.py`."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from cli.demo.player import play
from cli.views.model import audit_view
from cli.views.screen import print_screen
from eventstore.memory import MemoryLog
from projections.audit.session import audit

WIDTH = 104


def main() -> None:
    """Write the picture."""
    Path(__file__).parent.joinpath("images", "audit.svg").write_text(picture(), encoding="utf-8")


def picture() -> str:
    """Draw the demo session's audit as SVG."""
    log = MemoryLog(clock=lambda: 0)
    found = audit(log, play(log))
    out = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        markup=False,
        emoji=False,
    )
    print_screen(out, audit_view(found))
    return out.export_svg(title="refold audit demo-rate-limiter", unique_id="refold")


if __name__ == "__main__":
    main()
