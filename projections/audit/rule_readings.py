"""Look up the standing rules that a model found in a session, and in its summaries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, events_of_kinds
from eventstore.records import Note, own_record
from projections.audit.measure import MetricStruct
from projections.mentions.standing_rules import Instruction, InstructionKind


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


class SummaryReading(MetricStruct, frozen=True, kw_only=True, tag_field="type", tag="summary"):
    """The data of a `note`: the rules that a model found in a summary, and those that it missed.

    `compaction` is the id of the summary's event.
    """

    compaction: str
    kept: list[ReadRule]
    gone: list[ReadRule]
    request: dict[str, Any]


class RuleReadings(NamedTuple):
    """Readings of a session by a model.

    `rules` are the standing rules in each of the user's messages that it read, by the message's id. `kept` tells for
    each summary that it read, by the compaction's id, and each rule, by message and words, if the summary says it.
    """

    rules: Mapping[str, Sequence[str]] = MappingProxyType({})
    kept: Mapping[str, Mapping[tuple[str, str], bool]] = MappingProxyType({})


NO_READINGS: Final = RuleReadings()


def rule_readings(snapshot: Snapshot, session: str, *, as_of: int | None = None) -> RuleReadings:
    """Return all readings of a session.

    Newer ones replace older ones of the same message or summary.
    """
    rules: dict[str, Sequence[str]] = {}
    kept: dict[str, Mapping[tuple[str, str], bool]] = {}
    for event in events_of_kinds(snapshot, session, {"note"}, last=as_of):
        match _reading_of(event):
            case RuleReading(messages=messages, rules=found):
                texts: dict[str, list[str]] = {message: [] for message in messages}
                for rule in found:
                    texts.setdefault(rule.event, []).append(rule.text)
                rules |= texts
            case SummaryReading() as reading:
                kept[reading.compaction] = {(each.event, each.text): True for each in reading.kept} | {
                    (each.event, each.text): False for each in reading.gone
                }
    return RuleReadings(rules, kept)


def _reading_of(event: LazyEvent) -> RuleReading | SummaryReading | None:
    note = own_record(event)
    try:
        return msgspec.convert(note.data, RuleReading | SummaryReading) if isinstance(note, Note) else None
    except msgspec.ValidationError:
        return None


def with_reading(found: Sequence[Instruction], read: Sequence[str] | None) -> list[Instruction]:
    """Return a message's instructions, with the rules that a model found in it.

    `read` is None if no model read the message. Otherwise the model decides what is a rule, and other sentences in the
    form of a rule are limits of a task.
    """
    if read is None:
        return list(found)
    rules = [Instruction(rule, InstructionKind.RULE) for rule in read]
    tasks = [each for each in found if each.kind is InstructionKind.TASK]
    limits = [
        Instruction(each.text, InstructionKind.LIMIT)
        for each in found
        if each.kind is not InstructionKind.TASK and not any(_overlap(each.text, rule) for rule in read)
    ]
    return [*rules, *tasks, *limits]


def _overlap(sentence: str, rule: str) -> bool:
    one, other = (f" {' '.join(_WORD.findall(text.casefold()))} " for text in (sentence, rule))
    return one in other or other in one


_WORD: Final = re.compile(r"\w+")
