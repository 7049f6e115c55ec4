"""Fork sessions, and show the contexts and labels of either session."""

from __future__ import annotations

from itertools import count

from compaction.branching.fork import fork
from projections.context.build import build_context
from projections.tree import tree
from tests.support.talk import texts_of


def forked(log, session="s", **options):
    """Fork a session, and give the new one's name."""
    numbers = count(1)
    return fork(
        log,
        session,
        **{"name": "f", "clock": lambda: 77, "new_id": lambda: f"new-{next(numbers)}", **options},
    ).session


def shown(log, session="f"):
    return texts_of(build_context(log, session))


def labels(log, session="f"):
    return {node.id: node.label for node in tree(log, session).nodes if node.label is not None}
