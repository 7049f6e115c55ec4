"""The scenes of `refold sessions`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import help_of, nothing
from tests.cli.running import Refold
from tests.support.pi_files import entry, header


def three_sessions(refold: Refold) -> None:
    for name, request, entries, hour in (("b", "Beta", 2, 10), ("c", "Gamma", 1, 12), ("a", "Alpha", 3, 11)):
        given: dict[str, Any] = {
            "message": {"role": "user", "content": request},
            "timestamp": f"2025-12-08T{hour}:00:00.000Z",
        }
        lines = [entry(f"{name}{number}", None, "message", **given) for number in range(entries)]
        Path(f"{name}.jsonl").write_bytes(header(session=f"session-{name}") + b"".join(lines))
        refold("sync", f"{name}.jsonl")


SCENES: Final[Sequence[Scene]] = [
    help_of("sessions"),
    Scene(nothing, [Run("append s"), "sessions"]),
    Scene(
        three_sessions,
        [
            "sessions",
            "sessions --all",
            "label session-c --title 'Nightly run'",
            "sessions --harness pi",
        ],
    ),
]
