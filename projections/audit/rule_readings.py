"""Look up the standing rules that a model found in a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, events_of_kinds
from eventstore.records import Note, own_record
from projections.audit.measure import MetricStruct


class ReadRule(MetricStruct, frozen=True):
    """A rule, in the words of the message `event`."""

    event: str
    text: str


class RuleReading(MetricStruct, frozen=True, kw_only=True, tag_field="type", tag="rules"):
    """The data of a `note`: the messages that a model read, and the rules that it found in them.

    `messages` are ids of events; `request` is the record of the requests.
    """

    messages: list[str]
    rules: list[ReadRule]
    request: dict[str, Any]


def rule_readings(snapshot: Snapshot, session: str) -> Mapping[str, Sequence[str]]:
    """Return the rules in each message of a session that a model read, by the message's id.

    Newer readings replace older ones of the same message.
    """
    rules: dict[str, Sequence[str]] = {}
    for event in events_of_kinds(snapshot, session, {"note"}):
        reading = _reading_of(event)
        if reading is not None:
            texts: dict[str, list[str]] = {message: [] for message in reading.messages}
            for rule in reading.rules:
                texts.setdefault(rule.event, []).append(rule.text)
            rules |= texts
    return rules


def _reading_of(event: LazyEvent) -> RuleReading | None:
    note = own_record(event)
    try:
        return msgspec.convert(note.data, RuleReading) if isinstance(note, Note) else None
    except msgspec.ValidationError:
        return None
