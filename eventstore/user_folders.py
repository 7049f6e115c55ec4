"""Find the user's folders for a program's data, settings and caches."""

from __future__ import annotations

import os
import sys
from typing import Final, Literal

_FOLDERS: Final = {
    "data": ("~/.local/share", "~/Library/Application Support"),
    "config": ("~/.config", "~/Library/Application Support"),
    "cache": ("~/.cache", "~/Library/Caches"),
}
"""The folder of each kind on Linux and on macOS."""


def user_folder(kind: Literal["data", "config", "cache"]) -> str:
    """Return refold's folder of a kind, below an absolute `XDG_…_HOME` or the system's place."""
    named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    usual = _FOLDERS[kind][sys.platform == "darwin"]
    return os.path.join(named if os.path.isabs(named) else os.path.expanduser(usual), "refold")
