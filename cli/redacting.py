"""Mask secrets in what commands print and write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from cli.output import counted, echo_note, progress_bar, safe_line

if TYPE_CHECKING:
    from eventstore.log import EventLog, Snapshot
    from eventstore.redaction import Masks


_Result = TypeVar("_Result")


def masks_if(wanted: bool) -> Masks | None:  # noqa: FBT001  a flag of the command line
    """Return masks for secrets, None if not wanted."""
    if not wanted:
        return None
    from eventstore.redaction import Masks
    from eventstore.secrets import all_rules

    with progress_bar("loading the rules for secrets") as progress:
        progress(0, 1)
        return Masks(all_rules())


@contextmanager
def masked(log: EventLog, masks: Masks | None) -> Iterator[EventLog | Snapshot]:
    """Yield a log as it is, or a snapshot of it with secrets masked; at the end, note how many."""
    if masks is None:
        yield log
        return
    from eventstore.redaction import redacted

    with redacted(log, masks) as snapshot:
        yield snapshot
    _note(masks)


def masked_throughout(
    read: Callable[[EventLog | Snapshot], _Result], log: EventLog, masks: Masks | None
) -> _Result:
    """Return what `read` makes of a log with secrets masked in all sessions; note how many."""
    if masks is None:
        return read(log)
    from eventstore.redaction import read_redacted

    result = read_redacted(log, masks, read)
    _note(masks)
    return result


def masked_file(read: Callable[[], Iterable[bytes]], masks: Masks | None) -> Iterable[bytes]:
    """Yield the pieces of a session file, or its lines with secrets masked; then note how many."""
    if masks is None:
        yield from read()
        return
    from eventstore.redaction import masked_lines

    yield from masked_lines(read, masks)
    _note(masks)


def _note(masks: Masks) -> None:
    found = masks.count()
    rules = ", ".join(f"{safe_line(rule)} {count:,}" for rule, count in sorted(found.rules.items()))
    secrets = f"masked {counted(found.secrets, 'secret')} ({rules}) in {counted(found.masks, 'place')}"
    dropped = f", dropped {counted(found.dropped, 'signed block')} with secrets" if found.dropped else ""
    echo_note(f"{secrets if found.secrets else 'no secrets found'}{dropped}")
