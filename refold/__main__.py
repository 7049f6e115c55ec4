"""Run the command line: `python -m refold`."""

from __future__ import annotations

from cli.start import main

main()
