"""Showing earlier content otherwise: an overlay on a branch, never a change of what is stored."""

from __future__ import annotations

from collections.abc import Sequence

from eventstore.errors import BadInputError, NotFoundError
from eventstore.estimates import utf16_tokens
from eventstore.formats import view_of_message
from eventstore.records import Rewrite, Shown
from eventstore.writing import SessionWriter
from projections.context import Context, Part, context_at
from projections.rules import rules_named
from projections.standpoint import stand


def record_rewrite(writer: SessionWriter, *, targets: Sequence[Shown], reason: str) -> str:
    """Show messages of the context otherwise from here on, and give the new entry's id.

    The tokens that it saves are what the context shrinks by. Raises NotFoundError for a target that the
    context does not show, BadInputError for a message without content to rewrite (a shell command, a
    summary) or a block that it does not have, VersionConflictError where somebody appended in the meantime.
    """
    with writer.log.snapshot() as snapshot:
        version = snapshot.head(writer.session).version
        before = context_at(snapshot, stand(snapshot, writer.session))
    missing = {shown.target for shown in targets} - {part.id for part in before.parts}
    if missing:
        raise NotFoundError("message in the context", min(missing), "'refold context' shows what is there")
    parts = {part.id: part for part in before.parts}
    for shown in targets:
        _check_target(parts[shown.target], shown)
    record = Rewrite(reason=reason, targets=list(targets), tokens_saved=_saved(before, targets))
    return writer.append(record, expected=version)[0]


def _check_target(part: Part, shown: Shown) -> None:
    message = view_of_message(part.raw)
    where = f"message {part.id!r}"
    if message.shell is not None or part.role in ("compactionSummary", "branchSummary"):
        raise BadInputError(where, f"a {part.role} has no content to rewrite", "name another message")
    if shown.block is not None and not 0 <= shown.block < len(message.blocks):
        problem = f"has no block {shown.block}, but {len(message.blocks)} blocks"
        raise BadInputError(where, problem, "count blocks from 0, or leave the block out")


def _saved(before: Context, targets: Sequence[Shown]) -> int:
    rules = rules_named(before.rules)
    saved = 0
    for part in before.parts:
        changes = [shown for shown in targets if shown.target == part.id]
        if changes:
            saved += part.utf16 - utf16_tokens(view_of_message(rules.rewrite(part.raw, changes)))
    return saved
