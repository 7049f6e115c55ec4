"""Projections: contexts, audits, trees and other views, computed from a session's events."""

from __future__ import annotations

from projections.context.build import build_context
from projections.context.cursor import ROOT
from projections.context.parts import Context, Fate, Part
from projections.descriptions import title
from projections.files import file_operations
from projections.settings import settings
from projections.tree import tree

__all__ = [
    "ROOT",
    "Context",
    "Fate",
    "Part",
    "build_context",
    "file_operations",
    "settings",
    "title",
    "tree",
]
