"""Views of a session: one model, rendered for a terminal or as an HTML page."""

from __future__ import annotations
