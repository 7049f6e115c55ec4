"""Find rules that are gone, repeated messages, calls that fail again, habits that ended."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from projections.audit.findings.finding import Finding, cut, ref, refs
from projections.audit.findings.scene import Scene, Turn
from projections.audit.instruction_fates import Rule
from projections.audit.measure import EventRef
from projections.audit.restatements import words_of
from projections.audit.rework import call_history
from projections.mentions import MentionKind
from projections.mentions.message_facts import MessageFacts, commands_of
from projections.mentions.prose import sentences

_FEWEST_WORDS: Final = 3
"""Words that two messages about the same thing share."""
_FEWEST_FAILED: Final = 2


def repeated_messages(scene: Scene) -> Iterator[Finding]:
    """Find sentences that a person had to say again, and errors that they reported again."""
    said = [
        _Said(turn.person, words)
        for turn in scene.turns_before
        if turn.person and not scene.is_shown(turn.person)
        for sentence in sentences([turn.prose])
        if len(words := words_of(sentence)) >= _FEWEST_WORDS
    ]
    having: dict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(said):
        for word in each.words:
            having[word].append(place)
    for turn in scene.turns:
        if turn.person is None or not turn.follows_work:
            continue
        yield from _errors_again(scene, turn.person)
        for again in turn.complaints if turn.pushback < 1 else sentences([turn.prose]):
            words = words_of(again)
            scores: dict[int, float] = defaultdict(float)
            for word in words & having.keys():
                for place in having[word]:
                    # Words that a person uses often say little.
                    scores[place] += 1 / len(having[word])
            nearest = (
                said[max(scores, key=lambda each: scores[each])]
                if scores
                else _Said(turn.person, frozenset())
            )
            common = words & nearest.words
            if (
                len(common) >= _FEWEST_WORDS
                and 2 * len(common) >= min(len(words), len(nearest.words))
                and not scene.is_told(common, turn)
            ):
                yield Finding(
                    kind="repeated",
                    weight="serious",
                    sentence=f"you had to say again (#{turn.person.seq}) what you had said (#{nearest.person.seq}):"
                    f" “{cut(again)}”",
                    known=refs([nearest.person]),
                    trouble=[ref(turn.person)],
                    names=sorted(common),
                )
                break


def _errors_again(scene: Scene, person: MessageFacts) -> Iterator[Finding]:
    """Yield the errors in a person's message that had occurred before the replacement."""
    for error in person.mentions.get(MentionKind.ERROR, ()):
        if scene.is_lost(MentionKind.ERROR, error):
            first = scene.first_known(MentionKind.ERROR, error)
            sentence = f"you had to report an error (#{person.seq}) that had occurred before"
            yield Finding(
                kind="repeated",
                weight="serious",
                sentence=f"{sentence}{f' (#{first.seq})' if first else ''}: {cut(error)}",
                known=refs([first]),
                trouble=[ref(person)],
                names=[error],
            )


class _Said(NamedTuple):
    """A sentence of a person's before the replacement: the message, and its content words."""

    person: MessageFacts
    words: frozenset[str]


def gone_rules(scene: Scene, rules: Sequence[Rule]) -> Iterator[Finding]:
    """Find standing rules that left the context and were broken or repeated after it."""
    last = max(
        (each.seq for turn in scene.turns for each in (turn.person, *turn.messages) if each), default=0
    )
    for rule in rules:
        if rule.state != "gone":
            continue
        broken = [each for each in rule.broken_by if each.seq <= last]
        repeated = [each for each in rule.repeated_by if each.seq <= last]
        followed = [
            *([f"the model broke it ({_numbers(broken)})"] if broken else []),
            *([f"you had to repeat it ({_numbers(repeated)})"] if repeated else []),
        ]
        if not followed:
            continue
        yield Finding(
            kind="rule",
            weight="serious",
            sentence=f"your rule “{cut(rule.text)}” (#{rule.seq}) is no longer in the context:"
            f" {', and '.join(followed)}.",
            known=[EventRef(event=rule.event, seq=rule.seq)],
            trouble=sorted([*broken, *repeated], key=attrgetter("seq")),
            names=[rule.text],
        )


def _numbers(events: Sequence[EventRef]) -> str:
    return ", ".join(f"#{each.seq}" for each in events)


def failed_again(scene: Scene) -> Iterator[Finding]:
    """Find calls that failed before and after the replacement, with nothing written in between.

    One such call is cheap, and no finding.
    """
    unique = {message.id: message for message in (*scene.earlier, *scene.behind)}
    work = call_history(sorted(unique.values(), key=attrgetter("seq")), scene.facts)
    shown = {message.id for message in scene.after}
    failed: dict[tuple[str, str], int] = {}
    again: dict[int, MessageFacts] = {}
    for place in sorted(work.failed):
        made = work.calls[place]
        first = failed.get(made.key)
        if made.message.seq < scene.replacement.event.seq:
            failed[made.key] = place
            continue
        is_lost = first is not None and work.calls[first].message.id not in shown
        if first is not None and is_lost and not work.is_written(made.paths, first, place):
            again[place] = work.calls[first].message
    if len(again) >= _FEWEST_FAILED:
        calls = [work.calls[place].message for place in again]
        numbers = ", ".join(f"#{each.seq}" for each in refs(calls))
        yield Finding(
            kind="retry",
            weight="minor",
            sentence=f"the model made calls ({numbers}) that had failed before, and they failed again.",
            known=refs(again.values()),
            trouble=refs(calls),
            names=sorted({work.calls[place].call.name for place in again}),
        )


_FEWEST_HABIT: Final = 5
_FEWEST_BROKEN: Final = 3
_OFTEN: Final = 0.8
_HEAD: Final = re.compile(
    r"(?:git|npm|pnpm|yarn|bun|cargo|go|make|mise|uv|composer|mix|dotnet|gradle|mvn)\s+[a-z][\w:-]*"
)
"""The beginning of a command that builds, tests or publishes: the program and what it does."""


def ended_habits(scene: Scene) -> Iterator[Finding]:
    """Find commands that followed nearly every change before the replacement, and none after it."""
    before = [turn for turn in scene.turns_before if _changes(turn)][-2 * _FEWEST_HABIT :]
    behind = [turn for turn in scene.turns if _changes(turn)]
    if len(before) < _FEWEST_HABIT or len(behind) < _FEWEST_BROKEN:
        return
    often = Counter(head for turn in before for head in _heads(turn))
    since = {head for turn in behind for head in _heads(turn)}
    ended = [head for head, times in often.items() if times >= _OFTEN * len(before) and head not in since]
    if not ended:
        return
    last = [message for message, head in _runs(before) if head in ended][-1]
    least = min(often[head] for head in ended)
    yield Finding(
        kind="habit",
        weight="minor",
        sentence=f"the model no longer ran {', '.join(sorted(ended))} after its changes, as in {least} of the"
        f" {len(before)} turns before (#{last.seq}).",
        known=[ref(last)],
        trouble=refs(turn.messages[-1] for turn in behind),
        names=sorted(ended),
    )


def _changes(turn: Turn) -> bool:
    return any(message.modified for message in turn.messages)


def _heads(turn: Turn) -> set[str]:
    return {head for _, head in _runs([turn])}


def _runs(turns: Sequence[Turn]) -> Iterator[tuple[MessageFacts, str]]:
    """Yield the beginnings of the commands of known programs, with the messages that ran them."""
    for turn in turns:
        for message in turn.messages:
            for call in message.calls:
                for command in commands_of(call, message.tools):
                    if head := _HEAD.match(command):
                        yield message, " ".join(head[0].split())
