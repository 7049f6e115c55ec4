"""Run the command line: `python -m refold`."""

from __future__ import annotations

import sys

try:
    from cli.start import main
except ModuleNotFoundError as error:
    if error.name not in ("cli", "cli.start"):
        raise
    sys.exit(
        "refold: another package hides refold's package 'cli'; install refold with pipx, or in its own environment"
    )

main()
