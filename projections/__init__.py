"""Projections: contexts, audits, trees and other views, computed from a session's events."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from projections.context.build import build_context
from projections.context.cursor import ROOT
from projections.context.parts import Context, Fate, Part

# A function with the name of its module cannot be imported on first use: the module may be there before it.
from projections.settings import settings

if TYPE_CHECKING:
    from projections.descriptions import title
    from projections.files import file_operations

__all__ = [
    "ROOT",
    "Context",
    "Fate",
    "Part",
    "build_context",
    "file_operations",
    "settings",
    "title",
]

_MODULES: Final = {"file_operations": "projections.files", "title": "projections.descriptions"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
