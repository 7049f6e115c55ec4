"""List the model calls on a path."""

from __future__ import annotations

from eventstore.log import Snapshot
from projections.audit.calls import ModelCall, calls_on_path, session_calls
from projections.context.cursor import Cursor, path
from projections.tokens import Counter
from projections.usage import answers


def model_calls(snapshot: Snapshot, cursor: Cursor, tokens: Counter) -> list[ModelCall]:
    """The completed calls on the path to a leaf, oldest first."""
    calls = session_calls(answers(snapshot, cursor))
    return calls_on_path(snapshot, cursor, tokens, calls, path(snapshot, cursor))
