"""Ask a compacted context questions whose answers the log holds.

Future-use recall finds names in a context by rules, and so do extractive summaries. A probe is answered if the text of
its answer is in the context, as it was recorded. What to ask is read from the log by the same facts of messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeVar

from eventstore.event import Event
from eventstore.formats import view_of_event
from projections.context.parts import Context, is_by_person
from projections.mentions.message_facts import MessageFacts, SessionFacts
from projections.mentions.prose import prose_lines, sentences
from projections.mentions.standing_rules import InstructionKind, find_instructions

Question = Literal["modified", "forbidden", "failed", "asked"]
"""Modified files, prohibitions, failed commands and how they failed, and requests."""
MOST_OF_A_QUESTION: Final = 10
"""Maximum answers per question, the newest ones: no question outweighs the others."""
ENOUGH: Final = 0.8
"""The share of an answer's words that one paragraph must have."""
_FORBIDS: Final = re.compile(
    r"\b(?:never|don't|dont|do not|must not|should not|shouldn't|no longer|stop)\b", re.IGNORECASE
)
_WORD: Final = re.compile(r"\w{4,}")
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_FEWEST_WORDS: Final = 2
_FOLDER: Final = re.compile(r"^\s*(?:cd \S+ *(?:&&|;)\s*)+")
"""The change of folder before a command, which says nothing about it."""
_EXIT_CODE: Final = re.compile(r"\bexit(?:ed)?\b.{0,20}\bcode\b", re.IGNORECASE)

_Answer = TypeVar("_Answer")


class Probe(NamedTuple):
    """A question with one of its answers: texts to find verbatim, and words for one paragraph."""

    question: Question
    literal: str = ""
    words: frozenset[str] = frozenset()


class _Text(NamedTuple):
    """A message's text in lower case with white space collapsed, and each paragraph's words."""

    folded: str
    paragraphs: tuple[frozenset[str], ...]


def probes_at(earlier: Sequence[Event], facts: SessionFacts) -> list[Probe]:
    """Return the probes for a context after these entries; they do not depend on the policy."""
    messages = facts.of_events(earlier)
    texts = [view.text for event in earlier if is_by_person(event) and (view := view_of_event(event))]
    failed = {message.result_of for message in messages if message.is_error}
    modified = (
        _path_end(path)
        for message in messages
        if not failed.issuperset(call.id for call in message.calls)
        for path in message.modified
    )
    forbidden = (
        each.text
        for text in texts
        for each in find_instructions(text)
        if each.kind is InstructionKind.RULE and _FORBIDS.search(each.text)
    )
    requests = (next(sentences(prose_lines(text)), "") for text in texts)
    found = [
        *(Probe("modified", literal=path) for path in _newest(modified)),
        *(Probe("forbidden", words=words) for words in _newest(map(_words, forbidden))),
        *_newest(_failures(messages)),
        *(Probe("asked", words=words) for words in _newest(map(_words, requests))),
    ]
    return [each for each in found if each.literal or len(each.words) >= _FEWEST_WORDS]


def answered(probes: Sequence[Probe], context: Context, facts: SessionFacts) -> int:
    """Return how many probes a context answers."""
    texts = [facts.derive(_text_of, message) for message in facts.of_parts(context.parts)]
    return sum(_answers(texts, probe) for probe in probes)


def _answers(texts: Sequence[_Text], probe: Probe) -> bool:
    """Return True if texts have the literal answer, and a paragraph with enough of its words."""
    least = ENOUGH * len(probe.words)
    if probe.question == "modified":
        name = re.compile(rf"(?<![\w.-]){re.escape(probe.literal)}(?![\w-]|\.\w)")
        return any(probe.literal in text.folded and name.search(text.folded) for text in texts)
    return (not probe.literal or any(probe.literal in text.folded for text in texts)) and (
        not probe.words
        or any(len(probe.words & words) >= least for text in texts for words in text.paragraphs)
    )


def _failures(messages: Sequence[MessageFacts]) -> Iterator[Probe]:
    """Yield a probe per failed command: the command, and the words of its last line of output."""
    commands = {
        call.id: str(script)
        for message in messages
        for call in message.calls
        for name in message.tools.shells.get(call.name, ())
        if isinstance(call.decoded, dict) and (script := call.decoded.get(name))
    }
    for message in messages:
        command = commands.get(message.result_of)
        printed = [line for text in message.texts for line in text.splitlines() if _words(line)]
        lines = [line for line in printed if not _EXIT_CODE.search(line)]
        if command and message.is_error and lines:
            yield Probe(
                "failed",
                literal=_folded(_FOLDER.sub("", command).strip().partition("\n")[0]),
                words=_words(lines[-1]),
            )


def _newest(answers: Iterable[_Answer]) -> list[_Answer]:
    """Return the newest distinct answers, in order."""
    distinct = list(dict.fromkeys(reversed(list(answers))))
    return distinct[:MOST_OF_A_QUESTION][::-1]


def _path_end(path: str) -> str:
    """Return the last two names of a path: contexts write the others in many ways."""
    return "/".join(path.replace("\\", "/").casefold().split("/")[-2:])


def _text_of(message: MessageFacts) -> _Text:
    paragraphs = (_words(each) for text in message.texts for each in _PARAGRAPH.split(text))
    return _Text(_folded("\n".join(message.texts)), tuple(filter(None, paragraphs)))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
