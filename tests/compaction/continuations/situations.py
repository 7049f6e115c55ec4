"""A session that has just been told, as continuations see it."""

from __future__ import annotations

from collections.abc import Iterable

from compaction.continuations import ContextAfter
from projections.context.build import build_context
from projections.context.cursor import path, resolve_cursor
from tests.support.talk import Story


def situation(story: Story, kept: Iterable[str] = ()) -> ContextAfter:
    """A story before a compaction that keeps these of its messages."""
    with story.log.snapshot() as snapshot:
        entries = path(snapshot, resolve_cursor(snapshot, story.session))
    return ContextAfter(before=build_context(story.log, story.session).parts, kept=set(kept), entries=entries)
