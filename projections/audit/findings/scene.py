"""Set the scene for findings: what was known before a replacement, and what happened later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, takewhile
from typing import Final

from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.views import ToolCall
from projections.audit.restatements import words_of
from projections.context.parts import is_by_person
from projections.mentions import MentionKind
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import MessageFacts, SessionFacts
from projections.mentions.path_names import PathIndex, split_path
from projections.mentions.prose import prose_lines, sentences
from projections.mentions.pushback import concedes, pushback
from projections.replacement import Replacement
from projections.rules import rules_named

_LONGEST_OBJECTION: Final = 500
"""Characters; anything longer is a specification or a review."""
_LONGEST_TALK: Final = 2_000
"""Characters of a message of which a part may object."""
_CORRECTS_SELF: Final = re.compile(r"\W*(?:no|nope|nah|wait|hm+)\b\W*", re.IGNORECASE)
_FEWEST_TOLD: Final = 3
_MOST_TOLD: Final = 0.6
"""The number and share of content words by which another sentence tells the same."""
_REFUSAL: Final = 0.5
"""The pushback of refusing a call: its words may also be a question, or a new task."""
_REVIEW: Final = re.compile(
    r"\W*(?:\d+\W{1,3})?(?:\W*P[0-4]\b|(?:critical|high|medium|low|major|minor|nit|nitpick|blocker)\b\W{0,2}[:\-\u2013\u2014])",
    re.IGNORECASE,
)
"""The mark of severity with which a point of a review begins, pasted rather than said."""


def _prose(text: str) -> str:
    """Return a person's own words in a text, without what they pasted."""
    return " ".join(filter(None, prose_lines(text)))


def places_in(messages: Iterable[MessageFacts]) -> Iterator[tuple[MentionKind, str]]:
    """Yield the paths and addresses that messages name."""
    for message in messages:
        for kind in (MentionKind.PATH, MentionKind.URL):
            for value in message.visible_mentions.get(kind, ()):
                yield kind, value


def folder_of(place: str) -> str:
    """Return the last two names of the folder of a path or an address."""
    return "/".join(split_path(place)[-3:-1])


def results_in(
    messages: Iterable[MessageFacts],
) -> Iterator[tuple[MessageFacts, ToolCall, MessageFacts]]:
    """Yield the messages that make a call, the call, and its result."""
    pending: dict[str, tuple[MessageFacts, ToolCall]] = {}
    for message in messages:
        pending.update((call.id, (message, call)) for call in message.calls)
        if message.result_of in pending:
            caller, call = pending[message.result_of]
            yield caller, call, message


_FIRST_WORDS: Final = 2
"""Texts of a message before its calls' arguments: a thought, and what the model says."""


class Turn:
    """A person's words in `prose`, and the messages up to the next; the first turn has none.

    It `follows_work` if the model did or said something in an earlier turn: before that, nothing can be missed.
    `person` is their message, or the result of a call that they refused with words; None in the first turn.
    """

    def __init__(self, person: MessageFacts | None, prose: str, *, follows_work: bool = False) -> None:
        self.person, self.prose, self.follows_work = person, prose, follows_work
        self.messages: list[MessageFacts] = []

    @property
    def is_short(self) -> bool:
        """True if a person's message is neither a specification nor a review."""
        return self._is_said(_LONGEST_OBJECTION)

    def _is_said(self, longest: int) -> bool:
        return self.person is not None and len(self.prose) <= longest and _REVIEW.match(self.prose) is None

    @cached_property
    def complaints(self) -> list[str]:
        """The person's sentences that push back, by themselves or by the sentence before."""
        if not (self.follows_work and self._is_said(_LONGEST_TALK)):
            return []
        said = list(sentences([self.prose]))
        # Later in a message, "no" and "wait" correct the person's own words.
        scores = [
            0.0,
            *map(pushback, said[:1]),
            *(
                pushback(each[found.end() :] if (found := _CORRECTS_SELF.match(each)) else each)
                for each in said[1:]
            ),
        ]
        return [each for place, each in enumerate(said) if max(scores[place : place + 2]) >= 1]

    @cached_property
    def pushback(self) -> float:
        """The degree to which the person's own words read like pushback; 1 is enough."""
        refuses = self.person is not None and bool(self.person.feedback)
        return pushback(self.prose) + _REFUSAL * refuses if self.is_short and self.follows_work else 0

    @cached_property
    def is_objection(self) -> bool:
        """True if the person objects, by their own words or because the model concedes it."""
        if not (self.is_short and self.follows_work):
            return False
        return self.pushback + any(map(concedes, self._first_words)) >= 1

    @property
    def _first_words(self) -> Iterator[str]:
        """The texts and thoughts with which the answer begins, up to the first call's message."""
        for message in self.messages:
            if message.role == "assistant":
                yield from message.texts[:_FIRST_WORDS]
            if message.calls:
                return


class Scene:
    """The messages before a replacement, and those after it up to the next compaction.

    `earlier` are the messages above it and those that it removed, `after` those of C′. `turns` are what follows.
    """

    def __init__(self, replacement: Replacement, facts: SessionFacts) -> None:
        self.replacement, self.facts = replacement, facts
        self.restored_files = rules_named(replacement.after.rules).restored_files

    @cached_property
    def earlier(self) -> list[MessageFacts]:
        """The messages above the replacement, and those that it removed, as C showed them."""
        above = self.facts.of_events(self.replacement.earlier)
        known = set(map(id, above))
        removed = map(self.facts.of_part, self.replacement.removed)
        return [*above, *(message for message in removed if id(message) not in known)]

    @cached_property
    def after(self) -> list[MessageFacts]:
        """The messages of C′."""
        return list(self.facts.of_parts(self.replacement.after.parts))

    @cached_property
    def turns(self) -> list[Turn]:
        """The turns up to the next compaction; the first has no person's message."""
        return self._turns(takewhile(lambda each: each.kind != "compaction", self.replacement.later))

    @cached_property
    def turns_before(self) -> list[Turn]:
        """The turns above the replacement; the first has no person's message."""
        return self._turns(self.replacement.earlier)

    def _turns(self, events: Iterable[Event]) -> list[Turn]:
        turns = [Turn(None, "")]
        for event in events:
            message = self.facts.of_event(event)
            view = view_of_event(event) if message and is_by_person(event) else None
            if message and (view or message.feedback):
                follows_work = turns[-1].follows_work or any(
                    each.role == "assistant" for each in turns[-1].messages
                )
                prose = _prose(view.text if view else message.feedback)
                turns.append(Turn(message, prose, follows_work=follows_work))
            elif message:
                turns[-1].messages.append(message)
        return turns

    @cached_property
    def paths(self) -> PathIndex:
        """All paths that messages before and after the replacement name."""
        return PathIndex(path for message in (*self.earlier, *self.behind) for path in message.paths)

    @property
    def behind(self) -> Iterator[MessageFacts]:
        """The messages of all turns that no person wrote, in order."""
        return (message for turn in self.turns for message in turn.messages)

    @property
    def all_behind(self) -> Iterator[MessageFacts]:
        """The messages of all turns, in order."""
        for turn in self.turns:
            yield from (turn.person, *turn.messages) if turn.person else turn.messages

    @cached_property
    def known_places(self) -> dict[str, dict[tuple[MentionKind, str], MessageFacts]]:
        """Paths and addresses named before the replacement, by their folder's last two names."""
        found: dict[str, dict[tuple[MentionKind, str], MessageFacts]] = {}
        for message in self.earlier:
            for thing in places_in([message]):
                found.setdefault(folder_of(thing[1]), {}).setdefault(thing, message)
        return found

    @cached_property
    def known_symbols(self) -> Mapping[str, None]:
        """The names of code that were mentioned before the replacement."""
        return dict.fromkeys(
            name for message in self.earlier for name in message.mentions.get(MentionKind.SYMBOL, ())
        )

    @cached_property
    def _shown(self) -> frozenset[int]:
        return frozenset(seq for part in self.replacement.after.parts for _, seq in part.events)

    def is_shown(self, message: MessageFacts) -> bool:
        """Return True if C′ shows a message itself."""
        return message.seq in self._shown

    def is_told(self, words: frozenset[str], until: Turn | None = None) -> bool:
        """Return True if a summary tells what some words are about, or a person does before a turn."""
        later = takewhile(lambda each: each is not until, self.turns) if until else ()
        people = (each.person for each in later if each.person)
        told = (each for each in self.after if each.role in ("user", "compactionSummary", "branchSummary"))
        least = max(_FEWEST_TOLD, _MOST_TOLD * len(words))
        return any(
            len(words & words_of(sentence)) >= least
            for each in chain(told, people)
            for text in each.texts
            for sentence in sentences(text.splitlines())
        )

    def was_known(self, kind: MentionKind, value: str) -> bool:
        """Return True if a thing was mentioned before the replacement."""
        return self._before.contains(kind, value)

    def is_lost(self, kind: MentionKind, value: str) -> bool:
        """Return True if a thing was mentioned before, but is not in C′."""
        return self.was_known(kind, value) and not self._context.contains(kind, value)

    def first_known(self, kind: MentionKind, value: str) -> MessageFacts | None:
        """Return the first message before the replacement that mentions a thing."""
        return self._before.first_message(kind, value)

    @cached_property
    def _before(self) -> MentionIndex:
        return MentionIndex(self.earlier, self.paths, self.facts.index)

    @cached_property
    def _context(self) -> MentionIndex:
        return MentionIndex(self.after, self.paths, self.facts.index)
