"""Views of a session: one model, rendered to a terminal or to a page of HTML."""

from __future__ import annotations
