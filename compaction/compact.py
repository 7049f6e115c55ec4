"""Appending a compaction whose summary is at hand."""

from __future__ import annotations

import msgspec

from compaction.composing import compaction_record, size_after
from compaction.summaries.summary import Summary
from eventstore.checked import checked
from eventstore.errors import NotFoundError
from eventstore.writing import SessionWriter
from projections.context.build import context_at
from projections.context.cursor import path, stand
from projections.files import files_of
from projections.tokens import counter


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
    with checked(writer.log) as snapshot:
        at = stand(snapshot, writer.session)
        version = snapshot.head(writer.session).version
        first_seq = snapshot.locate(writer.session, first_kept)
        entries = path(snapshot, at)
        if first_seq not in {entry.seq for entry in entries}:
            raise NotFoundError("entry on the path", first_kept, "'refold tree' shows the path to the leaf")
        tokens = counter("utf16/4")
        record = compaction_record(
            Summary(text=summary, template=template),
            files=files_of([entry for entry in entries if entry.seq < first_seq], snapshot).lists(),
            first_kept=first_kept,
            tokens_before=sum(tokens.count(context_at(snapshot, at).parts)),
            reason=reason,
            policy=policy,
        )
        after = size_after(snapshot, writer.session, [record], tokens=tokens)
    return writer.append(msgspec.structs.replace(record, tokens_after=after), expected=version)[0]
