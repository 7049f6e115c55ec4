"""What the person and the model said to each other: requests, how turns ended, what was to come."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import msgspec

from compaction.summarizers.gleaning.line import one_line
from eventstore.views import Message
from projections.mentions.prose import own_words, sentences, unfenced

_LONG: Final = 300
"""Characters that are told of an answer."""
_FEWEST: Final = 4
"""Words of a sentence that says something by itself."""

_DECIDES: Final = re.compile(
    r"\b(?:instead of|rather than|decided (?:to|on|against|that)|chose|settled on|went with|going with|opted)\b",
    re.IGNORECASE,
)
_HINTS: Final = ("instead", "rather", "decided", "chose", "settled", "went with", "going with", "opted")
"""What every such sentence has in it: only texts with one of these are parted into sentences."""
_MUSES: Final = re.compile(
    r"\b(?:if|should|would|could|might|may|maybe|perhaps|want|let me|let's|now|i see|looks like)\b",
    re.IGNORECASE,
)
"""What tells a thought, or a step, from a decision."""
_INTENDS: Final = re.compile(
    r"(?:next|then|remaining|still to do|(?:now )?(?:let me|let's|i'll|i will|i need to|i'm going to))\b(?! time)",
    re.IGNORECASE,
)
_LEADS: Final = re.compile(
    r"[\W\d]*(?:next(?: steps?)?|remaining|remains|still (?:open|to do)|to ?do|left to do|pending)\b[^.!?]{0,60}",
    re.IGNORECASE,
)
"""The line before a list of what is to come."""
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[(?P<box>[ xX])\]\s+)?(?P<text>\S.*)")
_ENDS: Final = (".", "!", "…")


class Turn(msgspec.Struct, frozen=True):
    """A request, in the person's own words, and what the model said until the next one.

    `is_over`: it ended with an answer, not with a call.
    """

    asked: str
    said: tuple[str, ...] = ()
    is_over: bool = False


def turns(messages: Iterable[Message]) -> list[Turn]:
    """The turns of a conversation, oldest first; what was said before the first request is one without."""
    found: list[Turn] = []
    asked, said, is_over = "", list[str](), False
    for message in messages:
        if message.role == "user":
            found.append(Turn(asked, tuple(said), is_over))
            asked, said, is_over = _own(message.text), [], False
        elif message.role == "assistant":
            text = message.text
            said += [text] if text.strip() else []
            is_broken = message.stop_reason in ("error", "aborted")
            is_over = bool(said) and not message.tool_calls and not is_broken
    found.append(Turn(asked, tuple(said), is_over))
    return [turn for turn in found if turn.asked or turn.said]


def _own(text: str) -> str:
    """A text as one line, without what was pasted into it, if anything else is left."""
    return one_line(" ".join(own_words(text))) or one_line(text)


def outcome(turn: Turn) -> str:
    """What the answer says that ended a turn, as far as a few sentences tell; "" for a turn without one."""
    told = ""
    for sentence in sentences(own_words(turn.said[-1])) if turn.is_over else ():
        if not _is_statement(sentence) or _INTENDS.match(sentence):
            continue
        joint = " " if told.endswith(_ENDS) else "; "
        longer = told + joint + sentence if told else one_line(sentence, _LONG)
        if len(longer) > _LONG:
            break
        told = longer
    return told


def standing(turn: Turn) -> str:
    """What was said last in a turn that is not over; "" for one that is."""
    return "" if turn.is_over or not turn.said else one_line(_own(turn.said[-1]), _LONG)


def decisions(turn: Turn) -> list[str]:
    """Sentences of the model's that tell what was chosen, and over what."""
    telling = (text for text in turn.said if any(map(text.casefold().__contains__, _HINTS)))
    said = chain.from_iterable(sentences(own_words(text)) for text in telling)
    return [
        sentence
        for sentence in said
        if _DECIDES.search(sentence)
        and not _MUSES.search(sentence)
        and _is_statement(sentence)
        and len(sentence) <= _LONG
    ]


def questions(turn: Turn) -> list[str]:
    """What the model asked at the end of a turn."""
    said = sentences(own_words(turn.said[-1])) if turn.is_over else ()
    return [one_line(sentence, _LONG) for sentence in said if sentence.endswith("?")]


def plans(turn: Turn) -> list[str]:
    """What was to come by the last words of a turn: sentences that say so, lists that follow one, boxes not ticked."""
    return list(dict.fromkeys(_plans(turn.said[-1]))) if turn.said else []


def _plans(text: str) -> Iterator[str]:
    is_led = False
    for line in unfenced(text):
        item = _ITEM.fullmatch(line)
        if item and (is_led or item["box"] == " "):
            yield one_line(item["text"], _LONG)
        elif line:
            is_led = not item and _LEADS.fullmatch(line) is not None
            intended = [] if is_led else filter(_INTENDS.match, sentences([line]))
            yield from (one_line(each, _LONG) for each in intended if _is_statement(each))


def _is_statement(sentence: str) -> bool:
    return len(sentence.split()) >= _FEWEST and not sentence.endswith((":", "?"))
