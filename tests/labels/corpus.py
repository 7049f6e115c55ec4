"""Where the corpus of real sessions is."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def corpus_folder() -> Path:
    """The folder of real sessions, whether it is there or not."""
    return Path(os.environ.get("REFOLD_CORPUS") or PROJECT / "../shared/corpus").resolve()
