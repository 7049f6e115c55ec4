"""Why a session is compacted."""

from __future__ import annotations

from typing import Literal

Reason = Literal["manual", "tool", "overflow", "incomplete", "threshold", "idle"]
"""Why a session is compacted."""
