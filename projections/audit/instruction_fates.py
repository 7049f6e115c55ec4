"""Track the user's orders, prohibitions and preferences through a replacement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import takewhile
from typing import Final, NamedTuple

from eventstore.event import Event
from eventstore.formats import view_of_event, view_of_message
from eventstore.log import Snapshot
from eventstore.paths import SnapshotCache
from projections.audit.measure import EventRef, MetricStruct, share_of
from projections.audit.restated_rules import (
    CLOSE_SIMILARITY,
    MESSAGES,
    SUMMARIES,
    Restatements,
    core_words,
    is_restated,
)
from projections.audit.restatements import content_words, normalize, shared_words
from projections.audit.rule_evidence import Step, broken_by, repeated_by, steps_after
from projections.audit.rule_readings import rule_readings, with_reading
from projections.context.build import context_at
from projections.context.cursor import Cursor, path
from projections.context.parts import Part, is_by_person
from projections.mentions import MentionKind
from projections.mentions.instructions import mend
from projections.mentions.message_facts import MessageFacts, SessionFacts
from projections.mentions.standing_rules import Instruction, InstructionKind, find_instructions
from projections.replacement import Replacement

_LONGEST_LINE: Final = 300
"""Characters of the nearest line to report."""
_FEW: Final = 2
"""Content words that two sentences share by chance."""


class Rule(MetricStruct, frozen=True):
    """A standing rule of the user's; `event` is the first message that gives it.

    `state` is "tail" if such a message is still in C′, "kept" if another message of C′ says it in any words,
    else "gone". `nearest` is the most similar line of C′, and `similarity` its score from 0 to 1.
    `broken_by` are later events in which the model acted against the rule, and `repeated_by` later messages
    in which the user gives it again, both in order; those of a rule that is not gone end at the next
    compaction, which may lose it.
    """

    text: str
    event: str
    seq: int
    state: str
    similarity: float
    nearest: str
    broken_by: list[EventRef]
    repeated_by: list[EventRef]


class Task(MetricStruct, frozen=True):
    """Something that the user asked for once."""

    text: str
    event: str
    seq: int


class Instructions(MetricStruct, frozen=True):
    """The rules and tasks in C, and those that a summary in C carried.

    `total` counts the rules that left with H: those kept or gone. `share` is kept / total, None if there were
    none. Rules in the tail count in `tail` only. `tasks` counts those given, without limits of tasks; `unfinished`
    lists some.
    """

    total: int
    kept: int
    gone: int
    tail: int
    share: float | None
    rules: list[Rule]
    tasks: int
    unfinished: list[Task]


def instructions(replacement: Replacement, facts: SessionFacts) -> Instructions:
    """Return the state of each rule and task in C, by the first user message that gives it.

    Includes rules from before C that a summary in H still carried, because a summary of a summary may lose
    them, and limits of tasks that the user gave again after the replacement.
    """
    parts = replacement.before.parts
    persons = [place for place, part in enumerate(parts) if part.by_person]
    given = _first_given(_user_messages(parts, facts))
    rules = {**_carried_by_summaries(replacement, facts), **_of_kind(given, InstructionKind.RULE)}
    limits = _of_kind(given, InstructionKind.LIMIT)
    steps = steps_after(replacement, facts) if given or rules else []
    raised = {text: each for text, each in limits.items() if repeated_by(core_words(text), steps)}
    found = _rules(replacement, rules | raised, steps, facts) if rules or raised else []
    tasks = _of_kind(given, InstructionKind.TASK)
    states = Counter(each.state for each in found)
    left = states["kept"] + states["gone"]
    return Instructions(
        total=left,
        kept=states["kept"],
        gone=states["gone"],
        tail=states["tail"],
        share=share_of(states["kept"], left).share,
        rules=found,
        tasks=len(tasks),
        unfinished=list(_unfinished(facts.of_parts(parts), persons, tasks, steps)),
    )


def _rules(replacement: Replacement, given: _Given, steps: Sequence[Step], facts: SessionFacts) -> list[Rule]:
    tail = {
        normalize(each.text) for said in _user_messages(replacement.kept, facts) for each in said.instructions
    }
    words = {text: core_words(text) for text in given}
    restated = Restatements(replacement.after.parts, words.values())
    steps = [step for step in steps if step.said or step.acts or step.facts.is_error]
    # Another compaction may lose what this one kept.
    next_loss = next((each.seq for each in replacement.later if each.kind == "compaction"), None)
    until_then = [each for each in steps if next_loss is None or each.facts.seq < next_loss]
    judged = facts.readings.kept.get(replacement.event.id, {})
    rules = []
    for text, message in given.items():
        nearest = restated.find(text, words[text])
        says = judged.get((message.id, text), is_restated(nearest)) or nearest.is_verbatim
        state = "tail" if normalize(text) in tail else "kept" if says else "gone"
        following = steps if state == "gone" else until_then
        rules.append(
            Rule(
                text=text,
                event=message.id,
                seq=message.seq,
                state=state,
                similarity=nearest.similarity,
                nearest=nearest.text[:_LONGEST_LINE],
                broken_by=broken_by(text, following),
                repeated_by=repeated_by(words[text], following),
            )
        )
    return rules


class RuleAtLeaf(MetricStruct, frozen=True):
    """A standing rule given on a path, and what the context at its leaf has of it.

    `state` is "shown" if the context has the message `event`, which gave it first, or another one that gives
    it; "restated" if another message says it in similar words, else "not found". `nearest` is the most similar line of
    the context. `is_read` means that a model read the message.
    """

    text: str
    event: str
    seq: int
    state: str
    nearest: str
    is_read: bool


def rules_at(snapshot: Snapshot, cursor: Cursor) -> list[RuleAtLeaf]:
    """Return the standing rules that the user gave on the path to a cursor, in order."""
    facts = SessionFacts(rule_readings(snapshot, cursor.session, as_of=cursor.as_of))
    context = context_at(snapshot, cursor)
    given = _of_kind(_first_given(_recorded_messages(path(snapshot, cursor), facts)), InstructionKind.RULE)
    shown = {
        normalize(each.text) for said in _user_messages(context.parts, facts) for each in said.instructions
    }
    words = {text: core_words(text) for text in given}
    restated = Restatements(context.parts, words.values())
    summary = next((part.id for part in context.parts if part.role == "compactionSummary"), "")
    judged = facts.readings.kept.get(summary, {})
    rules = []
    for text, message in given.items():
        nearest = restated.find(text, words[text])
        says = judged.get((message.id, text), is_restated(nearest)) or nearest.is_verbatim
        state = "shown" if normalize(text) in shown else "restated" if says else "not found"
        rules.append(
            RuleAtLeaf(
                text=text,
                event=message.id,
                seq=message.seq,
                state=state,
                nearest=nearest.text[:_LONGEST_LINE],
                is_read=message.id in facts.readings.rules,
            )
        )
    return rules


class _UserMessage(NamedTuple):
    """A user message and the instructions in it."""

    id: str
    seq: int
    instructions: tuple[Instruction, ...]


class _Source(NamedTuple):
    """The kind of an instruction, and the first message that gives it."""

    kind: InstructionKind
    id: str
    seq: int


_Given = dict[str, _Source]

_INSTRUCTIONS: Final = SnapshotCache[tuple[Instruction, ...]](1 << 16)
"""A cache of the instructions in the user's events: every later compaction needs them."""


def _user_messages(parts: Iterable[Part], facts: SessionFacts) -> Iterator[_UserMessage]:
    for part in parts:
        if part.by_person:
            found = _instructions_in(part.raw, part.format)
        elif part.role == "toolResult" and (feedback := facts.of_part(part).feedback):
            found = tuple(find_instructions(feedback))
        else:
            continue
        read = facts.readings.rules.get(part.id)
        yield _UserMessage(part.id, part.seq, tuple(with_reading(found, read)))


@lru_cache(maxsize=MESSAGES)
def _instructions_in(message: bytes, form: str) -> tuple[Instruction, ...]:
    return tuple(find_instructions(view_of_message(message, form).text))


def _earlier_user_messages(replacement: Replacement, facts: SessionFacts) -> Iterator[_UserMessage]:
    """Yield the user's messages above the replacement that C does not show."""
    shown = {each for part in replacement.before.parts for each in part.events}
    yield from _recorded_messages(
        (event for event in replacement.earlier if (event.session, event.seq) not in shown), facts
    )


def _recorded_messages(entries: Iterable[Event], facts: SessionFacts) -> Iterator[_UserMessage]:
    """Yield the user's messages among entries that instruct something."""
    for event in entries:
        found = _INSTRUCTIONS.get(event.digest, partial(_instructions_of, event))
        if given := with_reading(found, facts.readings.rules.get(event.id)):
            yield _UserMessage(event.id, event.seq, tuple(given))


def _instructions_of(event: Event) -> tuple[Instruction, ...]:
    """Return the instructions in an event, none if the user did not write it."""
    view = view_of_event(event) if is_by_person(event) else None
    return tuple(find_instructions(view.text)) if view else ()


def _first_given(messages: Iterable[_UserMessage]) -> _Given:
    """Return the instructions in user messages, each with the first message that gives it."""
    first: dict[str, tuple[str, _Source]] = {}
    for message in messages:
        for each in message.instructions:
            source = _Source(each.kind, message.id, message.seq)
            first.setdefault(normalize(each.text), (each.text, source))
    return dict(first.values())


def _of_kind(given: _Given, kind: InstructionKind) -> _Given:
    return {text: source for text, source in given.items() if source.kind is kind}


def _carried_by_summaries(replacement: Replacement, facts: SessionFacts) -> _Given:
    """Return the rules from before C that a summary in H restates."""
    summaries = [part for part in replacement.removed if part.role in SUMMARIES]
    earlier = _first_given(_earlier_user_messages(replacement, facts)) if summaries else {}
    given = _of_kind(earlier, InstructionKind.RULE)
    if not given:
        return {}
    judged = {rule: kept for part in summaries for rule, kept in facts.readings.kept.get(part.id, {}).items()}
    words = {text: core_words(text) for text in given}
    restated = Restatements(summaries, words.values())
    return {
        text: each
        for text, each in given.items()
        if judged.get((each.id, text), is_restated(restated.find(text, words[text])))
    }


_REVOKES: Final = re.compile(
    r"(?:(?:no|ok|actually|wait|hm+|ah)\b[,.! ]*)*(?:(?:can|could) you )?(?:never ?mind|forget (?:it|that|about)|revert"
    r"|undo|leave it|stop|scrap|cancel|drop (?:it|that|this)|skip (?:it|that|this)|don't (?:do|bother)"
    r"|i (?:did it|have done it))\b",
    re.IGNORECASE,
)
_SOON: Final = 2
"""User messages after a task in which it may be taken back."""


def _unfinished(
    messages: Sequence[MessageFacts], persons: Sequence[int], given: _Given, steps: Sequence[Step]
) -> Iterator[Task]:
    """Yield the tasks in C that were not done; `persons` are the places of the user's messages.

    The model was in the middle of the turn, unless it had changed something and only the answer was missing; or the
    user gives the task again after the replacement. A task that one of the user's next messages takes back is left out.
    """
    end = max(
        (at for at, each in enumerate(messages) if each.role == "assistant" and not each.calls), default=-1
    )
    rest = list(takewhile(lambda step: step.said is None, steps))
    worked_on = not rest or not all(act.only_looks for step in rest for act in step.acts)
    places = {messages[at].seq: at for at in persons}
    for text, source in given.items():
        place = places[source.seq]
        following = [messages[at] for at in persons if at > place][:_SOON]
        is_revoked = any(_REVOKES.match("\n".join(each.texts).strip()) for each in following)
        has_worked = any(
            each.modified or each.mentions.get(MentionKind.COMMAND) for each in messages[place:] if each.calls
        )
        is_open = end < place and (worked_on or not has_worked)
        if not is_revoked and (is_open or _is_asked_again(content_words(mend(text.casefold())), steps)):
            yield Task(text=text, event=source.id, seq=source.seq)


def _is_asked_again(words: frozenset[str], steps: Sequence[Step]) -> bool:
    """Return True if one of the user's next messages asks for the same."""
    said = [step.said for step in steps if step.said is not None][:_SOON]
    return any(
        len(words) > _FEW
        and each.instructs
        and len(shared_words(words, each.words)) / len(words) >= CLOSE_SIMILARITY
        for statements in said
        for each in statements
    )
