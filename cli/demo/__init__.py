"""A coding session of the project's own writing, to play into a store: what `refold demo` shows."""

from __future__ import annotations

from cli.demo.player import SESSION, play

__all__ = ["SESSION", "play"]
