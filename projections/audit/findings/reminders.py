"""Find messages, facts and items of a plan that a person had to come back to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from projections.audit.findings.finding import Finding, cut, refs
from projections.audit.findings.scene import Scene, Turn
from projections.audit.restatements import words_of
from projections.mentions import MentionKind
from projections.mentions.message_facts import MessageFacts
from projections.mentions.prose import sentences

_FEWEST_WORDS: Final = 2
"""Content words that two messages about the same thing share."""
_HINT: Final = 0.5
"""The pushback of a message with a word such as "again" or "still"."""


def unanswered(scene: Scene) -> Iterator[Finding]:
    """Find an earlier message that the model dropped and the person came back to.

    The model dropped it if it stopped after the replacement without calling a tool.
    """
    asked, first = scene.turns_before[-1], scene.turns[0]
    # An answer may be several records, thinking first: its text is the last.
    stopped = next((each for each in reversed(first.messages) if each.role == "assistant"), None)
    if asked.person is None or scene.is_shown(asked.person) or _is_answered(asked) or stopped is None:
        return
    if any(message.calls for message in first.messages):
        return
    words = words_of(asked.prose)
    if scene.is_told(words):
        return
    for turn in scene.turns[1:]:
        if turn.person and turn.pushback >= _HINT and len(words & words_of(turn.prose)) >= _FEWEST_WORDS:
            yield Finding(
                kind="unanswered",
                weight="minor",
                sentence=f"the model stopped (#{stopped.seq}) without a single call for what you had last said"
                f" (#{asked.person.seq}), and you came back to it (#{turn.person.seq}).",
                known=refs([asked.person]),
                trouble=refs([stopped, turn.person]),
                names=sorted(words & words_of(turn.prose)),
            )
            return


def _is_answered(turn: Turn) -> bool:
    """Return True if a turn has an answer that calls no tools, with which the model stops."""
    return any(each.role == "assistant" and each.texts and not each.calls for each in turn.messages)


_FACTS: Final = (MentionKind.PATH, MentionKind.URL, MentionKind.IDENTIFIER, MentionKind.SYMBOL)
_OFFERS: Final = re.compile(
    r"(?i)\b(?:would you like|should i|shall i|do you want|want me to|let me know|anything else|ready to)\b"
)
_ASKS_FOR: Final = re.compile(
    r"(?i)\b(?:which|where|what|who|names?|paths?|files?|folders?|director\w+|urls?|links?|addresses|address|share|provide|paste|point)\b"
)
_END: Final = 300
"""Characters at the end of an answer that hold its question."""


_ASKS: Final = re.compile(r"(?i)ask_?(?:user|human|question|followup)\w*|question")
"""Tools with which a model asks the person."""


def repeated_facts(scene: Scene) -> Iterator[Finding]:
    """Find facts that a person repeated because the model asked for them or got them wrong."""
    told: dict[tuple[MentionKind, str], MessageFacts] = {}
    for turn in scene.turns_before:
        if turn.person and not scene.is_shown(turn.person):
            for thing in _facts_in(turn.person):
                told.setdefault(thing, turn.person)
    met = set[tuple[MentionKind, str]]()
    for message, question, is_answer in _heard(scene):
        again = [
            thing
            for thing in _facts_in(message)
            if is_answer and thing in told and thing not in met and scene.is_lost(*thing)
        ]
        if again:
            names = [value for _, value in again]
            why = f"because the model asked (#{question.seq})" if question else "to correct the model"
            yield Finding(
                kind="repeated",
                weight="serious",
                sentence=f"you had to name {names[0]} again (#{message.seq}), {why}: you had named it before"
                f" (#{told[again[0]].seq}).",
                known=refs(told[each] for each in again),
                trouble=refs([question, message]),
                names=names,
            )
        met.update(_facts_in(message))


def _heard(scene: Scene) -> Iterator[tuple[MessageFacts, MessageFacts | None, bool]]:
    """Yield later messages, each with its question, and True if it answers or objects."""
    question: MessageFacts | None = None
    for turn in scene.turns:
        if turn.person:
            yield turn.person, question, question is not None or turn.pushback >= 1
        asked: dict[str, MessageFacts] = {}
        for message in turn.messages:
            asked.update((call.id, message) for call in message.calls if _ASKS.fullmatch(call.name))
            yield message, asked.get(message.result_of), message.result_of in asked
        question = _question(turn)


def _facts_in(message: MessageFacts) -> Iterator[tuple[MentionKind, str]]:
    return ((kind, value) for kind in _FACTS for value in message.visible_mentions.get(kind, ()))


def _question(turn: Turn) -> MessageFacts | None:
    """Return the answer that ends a turn if it asks for a fact, rather than for consent."""
    last = turn.messages[-1] if turn.messages else None
    if last is None or last.role != "assistant" or last.calls or not last.texts:
        return None
    end = last.texts[-1].strip()[-_END:]
    question = re.split(r"[.!:]\s|\n", end)[-1]
    return last if end.endswith("?") and not _OFFERS.search(end) and _ASKS_FOR.search(question) else None


_DONE: Final = frozenset({"completed", "complete", "done", "cancelled", "canceled"})
_ITEMS: Final = ("todos", "plan", "items")
_TEXTS: Final = ("content", "step", "text", "title", "subject")


def dropped_items(scene: Scene) -> Iterator[Finding]:
    """Find open items of the newest plan that no later plan has, and that the person misses."""
    planned = [(message, plan) for message in scene.earlier for plan in _plans(message)]
    if not planned or scene.is_shown(planned[-1][0]):
        return
    source, plan = planned[-1]
    left = {item: words_of(item) for item, status in plan.items() if status not in _DONE}
    for turn in scene.turns:
        words = words_of(turn.prose) if turn.person and turn.pushback >= _HINT else frozenset()
        missed = [item for item, its in left.items() if len(words & its) >= max(_FEWEST_WORDS, len(its) / 2)]
        if turn.person and missed:
            yield Finding(
                kind="unanswered",
                weight="serious",
                sentence=f"the model dropped “{missed[0]}”, which its plan still had (#{source.seq}), until you"
                f" asked for it (#{turn.person.seq}).",
                known=refs([source]),
                trouble=refs([turn.person]),
                names=missed,
            )
            left = {item: its for item, its in left.items() if item not in missed}
        for kept in (item for message in turn.messages for plan in _plans(message) for item in plan):
            left = {item: its for item, its in left.items() if 2 * len(its & words_of(kept)) < len(its)}


def _plans(message: MessageFacts) -> Iterator[dict[str, str]]:
    """Yield the plans that a message's calls set: the status of each item."""
    for call in message.calls:
        if call.name not in message.tools.plans:
            continue
        given = next((each for name in _ITEMS if isinstance(each := call.argument(name), list)), [])
        plan = {
            str(next((item[name] for name in _TEXTS if name in item), "")): str(item.get("status", ""))
            for item in given
            if isinstance(item, dict)
        }
        if plan:
            yield plan


_REMINDS: Final = re.compile(
    r"(?i)\balready\s(?:told|said|asked|mention\w*|explain\w*|decid\w+|agreed|discuss\w*)\b"
    r"|\b(?:we|you)(?:'ve|\shave)?\salready\s(?:did|done|had|fixed|tried|went)\b"
    r"|\b(?:as|like)\s(?:i|we)\s(?:\w+\s)?(?:said|told|asked|mentioned|discussed|agreed|decided|did|had)\b"
    r"|\bi(?:'ve|\shave)?\s(?:just\s)?told\syou\b|\bhow\smany\stimes\b"
    r"|\b(?:last|the\sother|the\sprevious)\stime\b(?!\sstamp|\szone)"
    r"|\bwe(?:'ve|\shave)?\s(?:just\s)?(?:decided|agreed|discussed|settled|tried|fixed|had\sthis|been\sover|went\sover)\b"
    r"|\byou\s(?:just\s)?(?:said|told\sme|concluded)\b"
    r"|\bthought\s(?:you|we)\s(?:\w+\s)?(?:concluded|decided|agreed|said|fixed|had|did)\b"
    r"|\byou\s(?:have\s)?forg[oe]t\w*|\b(?:you|we|i)\s(?:\w+\s)?(?:earlier|previously)\b"
    r"|\blost\s(?:the\s|your\s)?(?:context|memory)\b"
)
"""Words with which a person says that something was known, said, decided or done before."""


def reminded(scene: Scene) -> Iterator[Finding]:
    """Find things that a person says were known, if a message that left the context has them.

    It is not a loss if a later message is as much about them.
    """
    if not any(_is_reminder(turn) for turn in scene.turns):
        return
    spoken = [
        (each, scene.facts.derive(_spoken, each))
        for each in scene.earlier
        if each.role != "compactionSummary" and not scene.is_shown(each)
    ]
    times = Counter(word for _, words in spoken for word in words)
    since: list[frozenset[str]] = [scene.facts.derive(_spoken, each) for each in scene.after]
    for turn in scene.turns:
        words = words_of(_reminder_in(turn.prose)) if _is_reminder(turn) else frozenset()
        known, its = max(
            spoken, key=lambda each: sum(1 / times[word] for word in words & each[1]), default=(None, words)
        )
        common = words & its
        if (
            turn.person
            and known
            and sum(times[word] <= max(_RARE, _RARELY * len(spoken)) for word in common) >= _FEWEST_WORDS
            and not any(len(words & each) >= len(common) for each in since)
        ):
            yield Finding(
                kind="repeated",
                weight="serious",
                sentence=f"you had to remind the model (#{turn.person.seq}) of what goes back to #{known.seq}:"
                f" “{cut(turn.prose)}”.",
                known=refs([known]),
                trouble=refs([turn.person]),
                names=sorted(common),
            )
        since += [scene.facts.derive(_spoken, each) for each in (turn.person, *turn.messages) if each]


_BEGINNING: Final = 250
"""Characters of a message that say what it is about."""


def _is_reminder(turn: Turn) -> bool:
    # Further back it is an aside: "…, and the same bank file fails. 1974, as I said."
    return turn.is_short and turn.follows_work and _REMINDS.search(turn.prose[:_BEGINNING]) is not None


def _reminder_in(prose: str) -> str:
    """Return the sentence that reminds, with the one before it, which says of what."""
    said = list(sentences([prose]))
    at = next((place for place, each in enumerate(said) if _REMINDS.search(each)), 0)
    return " ".join(said[max(at - 1, 0) : at + 1])


_LONGEST: Final = 5_000
"""Characters of a message that are compared with a person's words."""
_RARE: Final = 3
_RARELY: Final = 0.1
"""The most messages, as a number and a share, that have a telling word of a reminder."""


def _spoken(message: MessageFacts) -> frozenset[str]:
    """Return the words of a message or a summary; results have none."""
    is_spoken = message.role in ("assistant", "user", "compactionSummary")
    return words_of(" ".join(message.texts)[:_LONGEST]) if is_spoken else frozenset()
