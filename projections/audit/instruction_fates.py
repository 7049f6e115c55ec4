"""Track the user's orders, prohibitions and preferences through a replacement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from projections.audit.given_rules import (
    LONGEST_LINE,
    Given,
    UserMessage,
    first_given,
    look_for,
    of_kind,
    recorded_messages,
    user_messages,
)
from projections.audit.measure import EventRef, MetricStruct, share_of
from projections.audit.restated_rules import CLOSE_SIMILARITY, SUMMARIES, core_words
from projections.audit.restatements import content_words, normalize, shared_words
from projections.audit.rule_evidence import Step, broken_by, repeated_by, steps_after
from projections.audit.rule_readings import NO_READINGS, RuleReadings
from projections.mentions.instructions import mend
from projections.mentions.message_facts import MessageFacts, SessionFacts
from projections.mentions.standing_rules import InstructionKind
from projections.replacement import Replacement

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


def instructions(
    replacement: Replacement, facts: SessionFacts, readings: RuleReadings = NO_READINGS
) -> Instructions:
    """Return the state of each rule and task in C, by the first user message that gives it.

    Includes rules from before C that a summary in H still carried, because a summary of a summary may lose
    them, and limits of tasks that the user gave again after the replacement.
    """
    parts = replacement.before.parts
    messages = list(user_messages(parts, facts, readings))
    spoken = {message.id for message in messages}
    persons = [place for place, part in enumerate(parts) if part.id in spoken]
    given = first_given(messages)
    rules = {**_carried_by_summaries(replacement, readings), **of_kind(given, InstructionKind.RULE)}
    limits = of_kind(given, InstructionKind.LIMIT)
    steps = steps_after(replacement, facts) if given or rules else []
    raised = {text: each for text, each in limits.items() if repeated_by(core_words(text), steps)}
    found = _rules(replacement, rules | raised, steps, facts, readings) if rules or raised else []
    tasks = of_kind(given, InstructionKind.TASK)
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


def _rules(
    replacement: Replacement, given: Given, steps: Sequence[Step], facts: SessionFacts, readings: RuleReadings
) -> list[Rule]:
    tail = {
        normalize(each.text)
        for said in user_messages(replacement.kept, facts, readings)
        for each in said.instructions
    }
    steps = [step for step in steps if step.said or step.acts or step.facts.is_error]
    # Another compaction may lose what this one kept.
    next_loss = next((each.seq for each in replacement.later if each.kind == "compaction"), None)
    until_then = [each for each in steps if next_loss is None or each.facts.seq < next_loss]
    rules = []
    for rule in look_for(given, replacement.after.parts, readings):
        state = "tail" if normalize(rule.text) in tail else "kept" if rule.is_said else "gone"
        following = steps if state == "gone" else until_then
        rules.append(
            Rule(
                text=rule.text,
                event=rule.source.id,
                seq=rule.source.seq,
                state=state,
                similarity=rule.nearest.similarity,
                nearest=rule.nearest.text[:LONGEST_LINE],
                broken_by=broken_by(rule.text, following),
                repeated_by=repeated_by(core_words(rule.text), following),
            )
        )
    return rules


def _earlier_user_messages(replacement: Replacement, readings: RuleReadings) -> Iterator[UserMessage]:
    """Yield the user's messages above the replacement that C does not show."""
    shown = {each for part in replacement.before.parts for each in part.events}
    yield from recorded_messages(
        (event for event in replacement.earlier if (event.session, event.seq) not in shown), readings
    )


def _carried_by_summaries(replacement: Replacement, readings: RuleReadings) -> Given:
    """Return the rules from before C that a summary in H restates."""
    summaries = [part for part in replacement.removed if part.role in SUMMARIES]
    earlier = first_given(_earlier_user_messages(replacement, readings)) if summaries else {}
    given = of_kind(earlier, InstructionKind.RULE)
    return (
        {rule.text: rule.source for rule in look_for(given, summaries, readings) if rule.is_said}
        if given
        else {}
    )


_REVOKES: Final = re.compile(
    r"(?:(?:no|ok|actually|wait|hm+|ah)\b[,.! ]*)*(?:(?:can|could) you )?(?:never ?mind|forget (?:it|that|about)|revert"
    r"|undo|leave it|stop|scrap|cancel|drop (?:it|that|this)|skip (?:it|that|this)|don't (?:do|bother)"
    r"|i (?:did it|have done it))\b",
    re.IGNORECASE,
)
_SOON: Final = 2
"""User messages after a task in which it may be taken back."""


def _unfinished(
    messages: Sequence[MessageFacts], persons: Sequence[int], given: Given, steps: Sequence[Step]
) -> Iterator[Task]:
    """Yield the tasks in C that the user gives again after the replacement.

    `persons` are the places of the user's messages. A task that one of the user's next messages takes back is left
    out. That the replacement came in the middle of a turn says little: most of its work is done, or goes on.
    """
    places = {messages[at].seq: at for at in persons}
    for text, source in given.items():
        place = places[source.seq]
        following = [messages[at] for at in persons if at > place][:_SOON]
        is_revoked = any(_REVOKES.match("\n".join(each.texts).strip()) for each in following)
        if not is_revoked and _is_asked_again(content_words(mend(text.casefold())), steps):
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
