"""Appending a compaction whose summary is at hand."""

from __future__ import annotations

from compaction.summaries.file_tags import with_file_tags
from eventstore.errors import NotFoundError
from eventstore.estimates import utf16_tokens
from eventstore.records import Compaction
from eventstore.views import Message, Text
from eventstore.writing import SessionWriter
from projections.context import context_at, parts_from
from projections.files import files_of
from projections.standpoint import path, stand


def record_compaction(
    writer: SessionWriter,
    *,
    summary: str,
    first_kept: str,
    reason: str = "manual",
    policy: str = "",
    template: str = "",
) -> str:
    """Put a summary in place of the path before `first_kept`, and give the new entry's id.

    File operations and tokens before and after are recomputed from the log; the file operations stand in
    the record and, as tags, at the end of the summary. Raises NotFoundError where `first_kept` is not on the
    leaf's path, VersionConflictError where somebody appended in the meantime.
    """
    with writer.log.snapshot() as snapshot:
        at = stand(snapshot, writer.session)
        version = snapshot.head(writer.session).version
        first_seq = snapshot.locate(writer.session, first_kept)
        entries = path(snapshot, at)
        if first_seq not in {entry.seq for entry in entries}:
            raise NotFoundError("entry on the path", first_kept, "'refold tree' shows the path to the leaf")
        files = files_of([entry for entry in entries if entry.seq < first_seq], snapshot).lists()
        before = context_at(snapshot, at).parts
        kept = parts_from(snapshot, at, first_seq)
    text = with_file_tags(summary, files)
    summary_tokens = utf16_tokens(Message(role="compactionSummary", blocks=(Text(text),)))
    record = Compaction(
        summary=text,
        first_kept_entry_id=first_kept,
        tokens_before=sum(part.utf16 for part in before),
        tokens_after=summary_tokens + sum(part.utf16 for part in kept),
        details=files,
        reason=reason,
        policy=policy,
        template=template,
    )
    return writer.append(record, expected=version)[0]
