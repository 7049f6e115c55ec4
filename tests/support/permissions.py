"""Read the permissions of files."""

from __future__ import annotations

import stat
from pathlib import Path


def modes(path: Path) -> dict[str, int]:
    """The permissions of a file, or of a folder and the files in it, by their names."""
    files = [path, *path.iterdir()] if path.is_dir() else [path]
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in files}
