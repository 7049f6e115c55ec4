"""Collect the instructions that a user gave, and look for rules among them in a context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

from eventstore.event import Event
from eventstore.formats import view_of_message
from eventstore.paths import SnapshotCache
from projections.audit.restated_rules import CACHED_MESSAGES, Restatements, core_words, is_restated
from projections.audit.restatements import LineMatch, normalize
from projections.audit.rule_readings import RuleReadings, with_reading
from projections.context.parts import Part
from projections.mentions.message_facts import SessionFacts
from projections.mentions.standing_rules import Instruction, InstructionKind, find_instructions
from projections.person_text import person_text

LONGEST_LINE: Final = 300
"""Characters of the nearest line to report."""


class UserMessage(NamedTuple):
    """A user message and the instructions in it."""

    id: str
    seq: int
    instructions: tuple[Instruction, ...]


class Source(NamedTuple):
    """The kind of an instruction, and the first message that gives it."""

    kind: InstructionKind
    id: str
    seq: int


Given = dict[str, Source]

_INSTRUCTIONS: Final = SnapshotCache[tuple[Instruction, ...]](1 << 16)
"""A cache of the instructions in the user's events: every later compaction needs them."""


def user_messages(
    parts: Iterable[Part], facts: SessionFacts, readings: RuleReadings
) -> Iterator[UserMessage]:
    """Yield the user's messages in a context, with the rules that a model found in them."""
    for part in parts:
        if part.by_person:
            found = _instructions_in(part.raw, part.format)
        elif part.role == "toolResult" and (feedback := facts.of_part(part).feedback):
            found = tuple(find_instructions(feedback))
        else:
            continue
        read = readings.rules.get(part.id)
        yield UserMessage(part.id, part.seq, tuple(with_reading(found, read)))


@lru_cache(maxsize=CACHED_MESSAGES)
def _instructions_in(message: bytes, form: str) -> tuple[Instruction, ...]:
    return tuple(find_instructions(view_of_message(message, form).text))


def recorded_messages(entries: Iterable[Event], readings: RuleReadings) -> Iterator[UserMessage]:
    """Yield the user's messages among entries that instruct something."""
    for event in entries:
        found = _INSTRUCTIONS.get(event.digest, partial(_instructions_of, event))
        if given := with_reading(found, readings.rules.get(event.id)):
            yield UserMessage(event.id, event.seq, tuple(given))


def _instructions_of(event: Event) -> tuple[Instruction, ...]:
    """Return the instructions in an event, none if the user did not write it."""
    return tuple(find_instructions(person_text(event)))


def first_given(messages: Iterable[UserMessage]) -> Given:
    """Return the instructions in user messages, each with the first message that gives it."""
    first: dict[str, tuple[str, Source]] = {}
    for message in messages:
        for each in message.instructions:
            source = Source(each.kind, message.id, message.seq)
            first.setdefault(normalize(each.text), (each.text, source))
    return dict(first.values())


def of_kind(given: Given, kind: InstructionKind) -> Given:
    return {text: source for text, source in given.items() if source.kind is kind}


class RuleInContext(NamedTuple):
    """A rule, the message that gave it first, and the line of a context most like it.

    `is_said`: the context says the rule.
    """

    text: str
    source: Source
    nearest: LineMatch
    is_said: bool


def look_for(given: Given, parts: Sequence[Part], readings: RuleReadings) -> Iterator[RuleInContext]:
    """Yield rules with what the messages of a context say of them.

    Where a model read a summary, its verdict counts instead of the summary's words.
    """
    read = readings.kept
    verdicts = {rule: says for part in parts for rule, says in read.get(part.id, {}).items()}
    words = {text: core_words(text) for text in given}
    whole = Restatements(parts, words.values())
    unread = (
        Restatements((part for part in parts if part.id not in read), words.values()) if verdicts else whole
    )
    for text, source in given.items():
        verdict = verdicts.get((source.id, text))
        nearest = (whole if verdict is None else unread).find(text, words[text])
        yield RuleInContext(text, source, nearest, is_said=bool(verdict) or is_restated(nearest))
