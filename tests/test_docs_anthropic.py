"""docs/anthropic.md names every rule of the renderer, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from projections.requests.repairs import RepairRule

PAGE = (Path(__file__).parent.parent / "docs" / "anthropic.md").read_text("utf-8")


def rules_under(title: str) -> list[str]:
    """Return the names in the first column of the tables of a section."""
    section = re.split(rf"^## {title}$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_every_repair_is_in_the_page_once() -> None:
    assert sorted(rules_under("Repairs")) == sorted(RepairRule)
