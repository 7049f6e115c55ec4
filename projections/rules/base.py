"""What a harness's rules consist of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from eventstore.records import Shown

ShowEntry = Callable[[bytes, int | None], "bytes | None"]
"""From a record and its time in epoch milliseconds to the message that stands for it, None for none."""


class HarnessRules(msgspec.Struct, frozen=True, kw_only=True):
    """How a harness folds a path into messages.

    `summary` makes the message of the compaction in effect, `shown` those of entries that are no messages
    themselves, or not as they stand in their record, by kind code; kinds in neither show nothing. `migrated`
    makes those of records whose role the harness renames when it opens an older file. `rewrite` is a message
    with blocks shown otherwise, `placeholder` the one that stands for several, from a text and a time.
    """

    name: str
    summary: ShowEntry
    shown: Mapping[int, ShowEntry]
    migrated: ShowEntry
    rewrite: Callable[[bytes, Sequence[Shown]], bytes]
    placeholder: Callable[[str, int | None], bytes]
