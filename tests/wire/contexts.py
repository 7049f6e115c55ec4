"""Build refold's contexts of the requests that a run recorded, from the session files that it left."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from eventstore.errors import RefoldError
from eventstore.event import Event
from eventstore.files.importing import import_sessions
from eventstore.log import Snapshot
from eventstore.memory import MemoryLog
from eventstore.paths import events
from projections.context.build import context_at
from projections.context.cursor import resolve_cursor
from tests.wire.blocks import Block, context_blocks

_ANSWER: Final = re.compile(rb'"((?:msg|resp|chatcmpl)[-_]w\d{4})"')
"""An id of an answer of the scripted model, as programs record it."""
_ITEM: Final = re.compile(rb'"id":"[a-z]+_(w\d{4})\d\d"')
"""An id of an item of such an answer: Codex records no other, except of a remote compaction."""


def contexts_in(folder: Path) -> dict[str, list[Block]]:
    """Return a context for the id of each answer in the session files below a folder.

    It is the one above the answer's first record, as of the moment before that record. Forks copy records, so the
    first file that has an answer counts.
    """
    log = MemoryLog()
    for path in sorted(folder.rglob("*.jsonl")):
        try:
            import_sessions(log, path)
        except RefoldError:
            continue  # a file beside the sessions
    found: dict[str, list[Block]] = {}
    with log.snapshot() as snapshot:
        for head in snapshot.heads():
            for entry in events(snapshot, head.name):
                for answer in _answers(entry):
                    if answer not in found:
                        found[answer] = _context(snapshot, entry)
    return found


def _answers(entry: Event) -> list[str]:
    """Return the ids of answers that a record belongs to."""
    if entry.role not in ("assistant", "compactionSummary"):
        return []
    body = entry.body
    of_items = (b"resp_" + number for number in _ITEM.findall(body)) if entry.role == "assistant" else ()
    return [*map(bytes.decode, (*_ANSWER.findall(body), *of_items))]


def _context(snapshot: Snapshot, answer: Event) -> list[Block]:
    cursor = resolve_cursor(snapshot, answer.session, as_of=answer.seq - 1).at_leaf(answer.parent_seq)
    return context_blocks(context_at(snapshot, cursor), answer.time or 0)
