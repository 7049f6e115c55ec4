"""What turns a prompt into a summary.

Adding a summarizer: a module with its class, a line in the registry, its tests, its docs.
"""

from __future__ import annotations

from compaction.summarizers.summarizer import (
    Answer,
    Cancellation,
    CancelledError,
    Summarizer,
    SummarizerError,
)

__all__ = ["Answer", "Cancellation", "CancelledError", "Summarizer", "SummarizerError"]
