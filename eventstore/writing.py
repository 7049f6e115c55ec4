"""Append records to a session as it happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.event import Parent, epoch_milliseconds, random_id
from eventstore.harnesses.refold.events import compose
from eventstore.javascript import DEEPEST_RECORD, stringify
from eventstore.kinds import is_entry
from eventstore.log import EventLog, Expected
from eventstore.records import BOOKKEEPING, MessageRecord, Record

MAX_APPEND_TRIES: Final = 100
"""Maximum number of tries while others append."""

T = TypeVar("T")
_encode: Final = msgspec.json.Encoder().encode


class SessionWriter:
    """Append records to one session, which the first append creates.

    `clock` returns epoch milliseconds, `new_id` candidate ids; those that the session already has are
    skipped.
    """

    def __init__(
        self,
        log: EventLog,
        session: str,
        *,
        clock: Callable[[], int] = epoch_milliseconds,
        new_id: Callable[[], str] = random_id,
    ) -> None:
        self.log, self.session = log, session
        self._clock, self._new_id = clock, new_id

    def append(
        self,
        *records: Record,
        parent: str | Parent | None = Parent.LEAF,
        cause: str = "",
        expected: Expected = "any",
        ids: Sequence[str] = (),
    ) -> list[str]:
        """Append records in one transaction, each below the one before; return their ids.

        The first goes below `parent`. Pass `ids` from `fresh_ids` if records refer to each other; records
        that are appended again under the same ids are not added twice. Raises what `EventLog.append` raises.
        """
        for record in records:
            if record.kind in BOOKKEEPING:
                raise BadInputError(
                    f"record of kind {record.kind!r}", "only imports write it", "import a file"
                )
        names = list(ids) or self.fresh_ids(len(records))
        now = self._clock()
        events = []
        above = parent
        for record, event_id in zip(records, names, strict=True):
            event = compose(record, id=event_id, time=now, parent=above, cause=cause)
            events.append(msgspec.structs.replace(event, is_clocked=bool(ids)))
            above = event_id if is_entry(record.kind) else above
        self.log.append(self.session, events, expected=expected)
        return names

    def message(self, message: Mapping[str, Any], *, expected: Expected = "any") -> str:
        """Append a message; return its id."""
        return self.append(message_record(message), expected=expected)[0]

    def fresh_ids(self, count: int) -> list[str]:
        """Return new ids that no event of the session has."""
        ids: list[str] = []
        with self.log.snapshot() as snapshot:
            while len(ids) < count:
                candidate = self._new_id()
                try:
                    is_taken = candidate in ids or snapshot.locate(self.session, candidate) > 0
                except NotFoundError:
                    is_taken = candidate in ids
                if not is_taken:
                    ids.append(candidate)
        return ids


def message_record(message: Mapping[str, Any]) -> MessageRecord:
    """Return the record of a message. Raises BadInputError for one that is nested too deeply."""
    try:
        raw = _encode(message)
    except UnicodeEncodeError:
        raw = stringify(message).encode()
    except RecursionError:
        problem = f"it is nested deeper than {DEEPEST_RECORD} levels"
        raise BadInputError("message", problem, "store deeper levels as a text") from None
    return MessageRecord(message=msgspec.Raw(raw))


def retry_on_conflict(look_and_append: Callable[[], T]) -> T:
    """Read, then append; retry on a version conflict.

    One of several conflicting writers always succeeds, and a retry may find nothing left to do. A writer that
    reads for longer than the others pause may never succeed: after 100 tries, VersionConflictError says so.
    """
    tries = 0
    while True:
        try:
            return look_and_append()
        except VersionConflictError as error:
            tries += 1
            if tries == MAX_APPEND_TRIES:
                raise VersionConflictError(
                    error.session, error.expected, error.actual, tries=tries
                ) from error
