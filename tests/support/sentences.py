"""The data in a sentence: which names and numbers it tells, whatever the words around them."""

from __future__ import annotations

import re
from collections.abc import Collection


def names(text: str, among: Collection[str]) -> list[str]:
    """The words of a text that are among these names, in order."""
    return [word for word in re.findall(r"[\w-]+(?:\.[\w-]+)*", text) if word in among]


def numbers(text: str) -> list[int]:
    """The whole numbers of a text, in order; thousands may be set off by commas."""
    return [int(found.replace(",", "")) for found in re.findall(r"\d+(?:,\d{3})*", text)]
