"""Showing earlier content otherwise: an overlay on a branch, never a change of what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eventstore.errors import BadInputError, NotFoundError
from eventstore.formats import view_of_message
from eventstore.records import Rewrite, Shown
from eventstore.writing import SessionWriter
from projections.context import Part, context_at
from projections.overlay import overlaid
from projections.standpoint import stand


def record_rewrite(writer: SessionWriter, *, targets: Sequence[Shown], reason: str) -> str:
    """Show messages of the context otherwise from here on, and give the new entry's id.

    The tokens that it saves are what the context shrinks by. Raises NotFoundError for a target that the
    context does not show, BadInputError for a message without content to rewrite (a shell command, a
    summary), a block that it does not have or a span that ends before it begins, VersionConflictError where
    somebody appended in the meantime.
    """
    with writer.log.snapshot() as snapshot:
        version = snapshot.head(writer.session).version
        before = context_at(snapshot, stand(snapshot, writer.session))
    missing = {shown.target for shown in targets} - {part.id for part in before.parts}
    if missing:
        raise NotFoundError("message in the context", min(missing), "'refold context' shows what is there")
    parts = {part.id: part for part in before.parts}
    places = {part.id: place for place, part in enumerate(before.parts)}
    for shown in targets:
        _check_target(parts, places, shown)
    after = overlaid(before.parts, targets, rules=before.rules)
    saved = sum(part.utf16 for part in before.parts) - sum(part.utf16 for part in after)
    record = Rewrite(reason=reason, targets=list(targets), tokens_saved=saved)
    return writer.append(record, expected=version)[0]


def _check_target(parts: Mapping[str, Part], places: Mapping[str, int], shown: Shown) -> None:
    where = f"message {shown.target!r}"
    if shown.through:
        if places.get(shown.through, -1) < places[shown.target]:
            problem = f"{shown.through!r} is no message of the context at or behind it"
            raise BadInputError(where, problem, "name the last message that it is to stand for")
        return
    message = view_of_message(parts[shown.target].raw)
    role = parts[shown.target].role
    if message.shell is not None or role in ("compactionSummary", "branchSummary"):
        raise BadInputError(where, f"a {role} has no content to rewrite", "name another message")
    if shown.block is not None and not 0 <= shown.block < len(message.blocks):
        problem = f"has no block {shown.block}, but {len(message.blocks)} blocks"
        raise BadInputError(where, problem, "count blocks from 0, or leave the block out")
