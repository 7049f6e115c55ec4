"""Pure folds over the log: what a session's events amount to, at any leaf and as of any event."""

from __future__ import annotations

from projections.audit import audit
from projections.context import Context, Fate, Part, build_context
from projections.files import file_operations
from projections.settings import settings
from projections.standpoint import ROOT
from projections.title import title
from projections.tree import tree

__all__ = [
    "ROOT",
    "Context",
    "Fate",
    "Part",
    "audit",
    "build_context",
    "file_operations",
    "settings",
    "title",
    "tree",
]
