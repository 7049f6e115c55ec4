"""Locate the corpus of real sessions for commands; tests have a fixture."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def corpus_folder() -> Path:
    """The folder of real sessions; ends the program where there is none."""
    folder = Path(os.environ.get("REFOLD_CORPUS") or PROJECT / "../shared/corpus").resolve()
    if not folder.is_dir():
        sys.exit(f"no corpus of real sessions at {folder}; set REFOLD_CORPUS to its folder")
    return folder
