"""Look into an index file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from projections.search.full_text import INDEX_FILE


def dump(folder: Path) -> list[tuple[object, ...]]:
    """Everything in an index, in the order of the log."""
    with closing(sqlite3.connect(folder / INDEX_FILE)) as db:
        db.execute("CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, texts, instance)")
        words = db.execute("SELECT doc, col, offset, term FROM temp.v ORDER BY 1, 2, 3").fetchall()
        tables = ("events", "sessions", "state")
        return [*words, *(row for table in tables for row in db.execute(f"SELECT * FROM {table} ORDER BY 1"))]  # noqa: S608
