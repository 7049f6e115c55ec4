"""Importing with a progress bar."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eventstore.importing import Imported
    from eventstore.lmdb_log import LmdbLog

_WORTH_A_BAR = 4 << 20


def import_with_progress(log: LmdbLog, path: str) -> Imported:
    """Import a file; on a terminal, a large one with a bar that says how far it is."""
    from eventstore.importing import import_file

    file = Path(path)
    if not sys.stderr.isatty() or not file.is_file() or file.stat().st_size < _WORTH_A_BAR:
        return import_file(log, path)
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"importing {file.name}", total=file.stat().st_size)
        return import_file(log, path, progress=lambda done, _: bar.update(task, completed=done))
