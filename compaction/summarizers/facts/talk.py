"""Find requests, commands, answers and plans in a conversation, turn by turn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import msgspec

from compaction.summarizers.facts.lines import one_line
from eventstore.views import Message, call_indexes
from projections.mentions import MentionKind
from projections.mentions.message_facts import MessageFacts, commands_of
from projections.mentions.prose import prose_lines, sentences, unfenced

_HALF_LIFE: Final = 300
"""Messages after which a mention counts half."""
_LONG: Final = 200
"""Maximum characters of a failure."""
_MESSAGE: Final = re.compile(
    r"(?:error|exception|fatal|panic\w*|failed|failure)\b[^:]{0,40}:\s+(.*)", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"\d+")
_TIMES: Final = re.compile(r" \((\d{1,9}) times\)\Z")
_REMEMBERED: Final = 1 << 10
"""Size of the cache of normalized errors, because the same ones recur."""


class CommandRun(msgspec.Struct, frozen=True):
    """A command that ran; `failure` is its error, None if it succeeded."""

    command: str
    failure: str | None


def _one(_: str) -> int:
    return 1


def rank_by_mentions(messages: Sequence[Iterable[str]], *, size: Callable[[str], int] = _one) -> list[str]:
    """Rank what messages name (oldest message first) by frequency and recency.

    A mention counts half as much as one 300 messages later. The rank is divided by `size`, so that more short
    things fit.
    """
    weights: dict[str, float] = {}
    newest: dict[str, int] = {}
    for place, things in enumerate(messages):
        weight = 2.0 ** ((place - len(messages)) / _HALF_LIFE)
        for thing in things:
            weights[thing] = weights.get(thing, 0.0) + weight
            newest[thing] = place
    return sorted(weights, key=lambda thing: (-weights[thing] / size(thing), -newest[thing], thing))


def command_runs(messages: Sequence[tuple[Message, MessageFacts]]) -> list[list[CommandRun]]:
    """Return the commands that each message runs: shell calls, and the person's own."""
    results: dict[int, dict[str, tuple[Message, MessageFacts]]] = {}
    for result, caller in call_indexes([view for view, _ in messages]).items():
        results.setdefault(caller, {})[messages[result][0].tool_call_id] = messages[result]
    found = []
    for place, (view, held) in enumerate(messages):
        if view.shell:
            found.append([CommandRun(command, _failure(view, held)) for command in _commands(held)])
        else:
            found.append(list(_of_calls(view, held, results.get(place, {}))))
    return found


def _of_calls(
    view: Message, held: MessageFacts, results: Mapping[str, tuple[Message, MessageFacts]]
) -> Iterator[CommandRun]:
    """Yield the commands of an answer's calls; `results` maps call ids to results."""
    for call in view.tool_calls:
        # With a single call, the message's facts are the call's.
        made = _commands(held) if len(view.tool_calls) == 1 else commands_of(call, held.tools)
        result = results.get(call.id)
        for command in made:
            yield CommandRun(command, _failure(*result) if result else None)


def _commands(held: MessageFacts) -> tuple[str, ...]:
    return held.mentions.get(MentionKind.COMMAND, ())


def _failure(view: Message, held: MessageFacts) -> str | None:
    """Return the first error that a failed command reports, else its last line."""
    if not held.is_error:
        return None
    errors = held.mentions.get(MentionKind.ERROR, ())
    output = view.shell.output if view.shell else view.text
    return one_line(errors[0] if errors else output.rstrip().rpartition("\n")[2], _LONG)


def count_repeats(errors: Sequence[Sequence[str]]) -> list[str]:
    """Rank errors by frequency and recency; of similar ones keep the newest, with their number."""
    times: Counter[str] = Counter()
    newest: dict[str, str] = {}
    for error, number in (strip_count(error) for message in errors for error in message):
        times[_alike(error)] += number
        newest[_alike(error)] = error
    met = rank_by_mentions(
        [[_alike(strip_count(error)[0]) for error in message] for message in errors], size=len
    )
    return [newest[error] + (f" ({times[error]} times)" if times[error] > 1 else "") for error in met]


def strip_count(error: str) -> tuple[str, int]:
    """Return an error without its count, and the count (1 if it has none)."""
    found = _TIMES.search(error)
    return (error[: found.start()], int(found[1])) if found else (error, 1)


@lru_cache(maxsize=_REMEMBERED)
def _alike(error: str) -> str:
    """Return an error's message without its location, or the error without its numbers."""
    found = _MESSAGE.search(error)
    return (found and found[1]) or _NUMBER.sub("#", error)


_LONG_ANSWER: Final = 300
"""Maximum characters of an answer."""
_MIN_WORDS: Final = 4
"""Minimum words of a sentence that is clear by itself."""

_DECIDES: Final = re.compile(
    r"\b(?:instead of|rather than|decided (?:to|on|against|that)|chose|settled on|went with|going with|opted)\b",
    re.IGNORECASE,
)
_HINTS: Final = ("instead", "rather", "decided", "chose", "settled", "went with", "going with", "opted")
"""Words that every decision contains; only texts with one are split into sentences."""
_MUSES: Final = re.compile(
    r"\b(?:if|should|would|could|might|may|maybe|perhaps|want|let me|let's|now|i see|looks like)\b",
    re.IGNORECASE,
)
"""Words that mark a thought or a step rather than a decision."""
_INTENDS: Final = re.compile(
    r"(?:next|then|remaining|still to do|(?:now )?(?:let me|let's|i'll|i will|i need to|i'm going to))\b(?! time)",
    re.IGNORECASE,
)
_LEADS: Final = re.compile(
    r"[\W\d]*(?:next(?: steps?)?|remaining|remains|still (?:open|to do)|to ?do|left to do|pending)\b[^.!?]{0,60}",
    re.IGNORECASE,
)
"""The line before a list of next steps."""
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[(?P<box>[ xX])\]\s+)?(?P<text>\S.*)")
_ENDS: Final = (".", "!", "…")


class ConversationTurn(msgspec.Struct, frozen=True):
    """A request in the person's own words, and what the model said until the next one.

    `is_over` means that it ended with an answer rather than a call.
    """

    request: str
    answers: tuple[str, ...] = ()
    is_over: bool = False


def split_turns(messages: Iterable[Message]) -> list[ConversationTurn]:
    """Split a conversation into turns, oldest first.

    Messages before the first request are a turn without one.
    """
    found: list[ConversationTurn] = []
    request, answers, is_over = "", list[str](), False
    for message in messages:
        if message.role == "user":
            found.append(ConversationTurn(request, tuple(answers), is_over))
            request, answers, is_over = _own(message.text), [], False
        elif message.role == "assistant":
            text = message.text
            answers += [text] if text.strip() else []
            is_broken = message.stop_reason in ("error", "aborted")
            is_over = bool(answers) and not message.tool_calls and not is_broken
    found.append(ConversationTurn(request, tuple(answers), is_over))
    return [turn for turn in found if turn.request or turn.answers]


def _own(text: str) -> str:
    """Collapse a text to one line without pasted material, unless it is all pasted."""
    return one_line(" ".join(prose_lines(text))) or one_line(text)


def turn_outcome(turn: ConversationTurn) -> str:
    """Return the first few sentences of the answer that ended a turn, "" without one."""
    outcome = ""
    for sentence in sentences(prose_lines(turn.answers[-1])) if turn.is_over else ():
        if not _is_statement(sentence) or _INTENDS.match(sentence):
            continue
        joint = " " if outcome.endswith(_ENDS) else "; "
        longer = outcome + joint + sentence if outcome else one_line(sentence, _LONG_ANSWER)
        if len(longer) > _LONG_ANSWER:
            break
        outcome = longer
    return outcome


def current_work(turn: ConversationTurn) -> str:
    """Return the last message of an unfinished turn, "" for a finished one."""
    return "" if turn.is_over or not turn.answers else one_line(_own(turn.answers[-1]), _LONG_ANSWER)


def find_decisions(turn: ConversationTurn) -> list[str]:
    """Return the model's sentences that state a choice and its alternative."""
    telling = (text for text in turn.answers if any(map(text.casefold().__contains__, _HINTS)))
    found = chain.from_iterable(sentences(prose_lines(text)) for text in telling)
    return [
        sentence
        for sentence in found
        if _DECIDES.search(sentence)
        and not _MUSES.search(sentence)
        and _is_statement(sentence)
        and len(sentence) <= _LONG_ANSWER
    ]


def find_questions(turn: ConversationTurn) -> list[str]:
    """Return the model's questions at the end of a turn."""
    found = sentences(prose_lines(turn.answers[-1])) if turn.is_over else ()
    return [one_line(sentence, _LONG_ANSWER) for sentence in found if sentence.endswith("?")]


def find_plans(turn: ConversationTurn) -> list[str]:
    """Return the next steps in a turn's last message: sentences, lists, unticked boxes."""
    return list(dict.fromkeys(_plans(turn.answers[-1]))) if turn.answers else []


def _plans(text: str) -> Iterator[str]:
    is_led = False
    for line in unfenced(text):
        item = _ITEM.fullmatch(line)
        if item and (is_led or item["box"] == " "):
            yield one_line(item["text"], _LONG_ANSWER)
        elif line:
            is_led = not item and _LEADS.fullmatch(line) is not None
            intended = [] if is_led else filter(_INTENDS.match, sentences([line]))
            yield from (one_line(each, _LONG_ANSWER) for each in intended if _is_statement(each))


def _is_statement(sentence: str) -> bool:
    return len(sentence.split()) >= _MIN_WORDS and not sentence.endswith((":", "?"))
