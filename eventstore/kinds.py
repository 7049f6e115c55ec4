"""List the kinds of events, and which of them are entries of the tree."""

from __future__ import annotations

from typing import Final

# A kind's place in this tuple is its code on disk: append only, never reorder.
# Code 0 stands for every kind that is not listed; such a frame carries the kind's own tag.
KINDS: Final = (
    "",
    "message",
    "model_change",
    "thinking_level_change",
    "compaction",
    "branch_summary",
    "custom_message",
    "custom",
    "rewrite",
    "leaf_moved",
    "undone",
    "reset_boundary",
    "label",
    "session_info",
    "decision",
    "attempt",
    "repair",
    "import",
    "link",
    "redaction",
    "observed_rewrite",
    "note",
)
"""Nothing writes `reset_boundary`, `repair` and `redaction`; their codes stay reserved."""

CODE_OF_KIND: Final = {kind: code for code, kind in enumerate(KINDS) if kind}

COMPACTION: Final = CODE_OF_KIND["compaction"]
UNDONE: Final = CODE_OF_KIND["undone"]

OFF_PATH: Final = frozenset(
    {"decision", "attempt", "repair", "import", "link", "redaction", "observed_rewrite", "note"}
)
"""Kinds of events about a session that are not in its tree and never become the leaf."""


def kind_of_code(code: int) -> str:
    """Return the kind of a code on disk, "" for 0, which means a tag in the frame."""
    return KINDS[code]


def is_entry(kind: str) -> bool:
    """Return True if events of this kind are in the tree, as those of unknown kinds are."""
    return kind not in OFF_PATH
