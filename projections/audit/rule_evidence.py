"""Find where the model acted against a user's rule, and where the user gives the rule again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from eventstore.formats import view_of_event
from eventstore.views import ToolCall
from projections.audit.measure import EventRef
from projections.audit.restatements import content_words, shared_words
from projections.context.parts import is_by_person
from projections.files import files_of_call
from projections.mentions.instructions import mend
from projections.mentions.message_facts import MessageFacts, SessionFacts, commands_of
from projections.mentions.path_names import split_path
from projections.mentions.prose import prose_lines, sentences
from projections.mentions.standing_rules import kind_of_sentence
from projections.mentions.wording import NEGATED
from projections.replacement import Replacement


# Compared by identity, which makes it a cheap key of a cache.
class Statement(msgspec.Struct, frozen=True, eq=False):
    """A sentence of a user's, in lower case. `instructs`: it is a rule or a task."""

    text: str
    words: frozenset[str]
    instructs: bool


class _Act(NamedTuple):
    """A model's call: the commands that it ran, and the names in the paths that it changed."""

    call: ToolCall
    ran: tuple[str, ...]
    changed: tuple[tuple[str, ...], ...]


class Step(NamedTuple):
    """A message after a replacement; `said` are the user's sentences, None for other authors.

    `acts` are its calls that ran commands or changed files.
    """

    facts: MessageFacts
    said: tuple[Statement, ...] | None
    acts: tuple[_Act, ...]


_MOST_SENTENCES: Final = 100
"""Sentences of a message; more are a pasted text."""


def steps_after(replacement: Replacement, facts: SessionFacts) -> list[Step]:
    """Return the messages after a replacement on its branch, in order."""
    persons = {event.seq: event for event in replacement.later if is_by_person(event)}
    steps = []
    for held in facts.of_events(replacement.later):
        person = persons.get(held.seq)
        view = view_of_event(person) if person else None
        text = view.text if view else held.feedback
        said = _statements(text) if view or text else None
        steps.append(Step(held, said, facts.derive(_acts, held)))
    return steps


def _acts(held: MessageFacts) -> tuple[_Act, ...]:
    acts = (
        _Act(
            call,
            commands_of(call, held.tools),
            tuple(split_path(path.casefold()) for path in files_of_call(call, held.tools)[1]),
        )
        for call in held.calls
    )
    return tuple(act for act in acts if act.ran or act.changed)


@lru_cache(maxsize=1 << 10)
def _statements(text: str) -> tuple[Statement, ...]:
    found = list(sentences(prose_lines(text)))[:_MOST_SENTENCES]
    return tuple(
        Statement(each.casefold(), content_words(mend(each.casefold())), kind_of_sentence(each) is not None)
        for each in found
    )


_REPEATS: Final = 0.6
"""The minimum share of a rule's words in a sentence that gives it again."""
_REPEATS_SURELY: Final = 0.75
"""The same for a sentence that instructs nothing, such as a complaint."""
_FEW: Final = 2
_LONG: Final = 2
"""Times as many words as the rule has; so long a sentence must have all of the rule's words."""
_ASKS: Final = re.compile(r"\?\W*$")
_COMPLAINS: Final = re.compile(
    r"\b(?:again|already|(?:i|we) (?:said|told|asked|wanted|want)|my rules?|remember|why (?:did|do|are|would) you"
    r"|you (?:were|are) (?:not )?(?:supposed|told)|as i said|how often|how many times)\b"
)


def repeated_by(words: frozenset[str], steps: Sequence[Step]) -> list[EventRef]:
    """Return the later messages in which the user gives a rule of these content words again."""
    return [
        EventRef(event=step.facts.id, seq=step.facts.seq)
        for step in steps
        if step.said and _is_repeated(words, step.said)
    ]


@lru_cache(maxsize=1 << 16)
def _is_repeated(words: frozenset[str], said: tuple[Statement, ...]) -> bool:
    return any(_repeats(words, each) for each in said)


def _repeats(words: frozenset[str], said: Statement) -> bool:
    given = said.words
    if _COMPLAINS.search(said.text):
        # "Why did you push again?" is about the rule that forbids it.
        given = given | {f"not {word}" for word in given if not word.startswith("not ")}
    elif _ASKS.search(said.text):
        return False
    shared = shared_words(words, given)
    if len(shared) < min(_FEW, len(words)) or (len(words) < _FEW and not said.instructs):
        return False
    if len(said.words) > _LONG * len(words) and len(shared) < len(words):
        return False
    is_about_it = said.instructs or given is not said.words
    return bool(words) and len(shared) / len(words) >= (_REPEATS if is_about_it else _REPEATS_SURELY)


class Ban(NamedTuple):
    """The calls that a rule forbids, as far as calls can show it.

    `paths` must not be changed, `commands` must not be run. `wholly`: only writing a file anew is forbidden.
    """

    paths: tuple[tuple[str, ...], ...] = ()
    commands: tuple[re.Pattern[str], ...] = ()
    topic: str = ""
    wholly: bool = False


_NEGATED: Final = re.compile(
    rf"\b(?:{NEGATED}|not allowed to|refrain from|avoid|stop|quit)\s+(?:(?:ever|please|just|again)\s+)*"
    r"(?P<verb>[a-z-]+)(?P<rest>.*)"
)
_NOT_IN: Final = re.compile(
    r"^(?:please )?nothing (?:in|under) (?P<rest>\S+)|^(?P<other>\S+) (?:is|are) off[ -]limits"
    r"|\b(?:hands off|steer clear of|(?:stay|keep) (?:away from|out of|clear of|off)) (?P<off>.+)"
)
_LEAVE: Final = re.compile(
    r"\bleave (?P<rest>.{1,60}?) (?:alone|untouched|unchanged|as (?:is|it is|they are))\b"
)
_CHANGES: Final = frozenset(
    "add alter change create delete edit editing format modify overwrite reformat remove rewrite touch touching"
    " update write".split()
)
_ANEW: Final = frozenset({"rewrite", "overwrite"})
_RUNS: Final = frozenset("call execute invoke run start use running using".split())
_GIT: Final = frozenset("amend checkout commit merge push rebase reset revert squash stash tag".split())
_CONTRAST: Final = re.compile(
    r"\buse (?P<use>[\w-]+)\b.*?(?:\binstead of|, not|\bnot|\brather than|\bover) (?P<other>[a-z][\w-]*)\b"
)
_OBJECT_END: Final = re.compile(
    r"[,;:!?]|\.(?=\s|$)|\b(?:without|unless|except|but|and|so|because|until|when|if|by|to|for|with)\b"
)
_DETERMINERS: Final = frozenset(
    "a all an any anything code directory existing file files folder folders her his in inside its just more my of our"
    " that the their them these this those under whole your".split()
)
_IS_PATH: Final = re.compile(r"[/\\]|\.\w{1,5}$")
_MOST_NOUNS: Final = 2
_INSTALLS: Final = re.compile(
    r"(?:sudo )?(?:npm|pnpm|yarn|pip3?|uv|poetry|cargo|brew|apt|apt-get|gem|go)\b.* (?:install|add|get)\b"
)


@lru_cache(maxsize=1 << 12)
def ban_of(rule: str) -> Ban | None:
    """Return what a rule forbids, None if no call can show that it was broken."""
    plain = mend(rule.casefold().replace("’", "'").replace("`", "").replace("*", ""))  # noqa: RUF001  an apostrophe
    if contrast := _CONTRAST.search(plain):
        return Ban(commands=(_command(contrast["other"]),), topic=contrast["other"])
    if left := _LEAVE.search(plain) or _NOT_IN.search(plain):
        return _paths_banned(next(filter(None, left.groups())), wholly=False)
    found = _NEGATED.search(plain)
    if not found:
        return None
    return (
        _paths_banned(found["rest"], wholly=found["verb"] in _ANEW)
        if found["verb"] in _CHANGES
        else (_commands_banned(found["verb"], found["rest"]))
    )


def _commands_banned(verb: str, rest: str) -> Ban | None:
    """Return what a forbidden verb other than of change forbids."""
    words = _object(rest)
    banned = None
    if verb.startswith("force-") or (verb == "force" and words[:1] == ["push"]):
        banned, topic = re.compile(r"git\b.* push\b.*(?: -f\b| --force)"), "push"
    elif verb in _GIT:
        banned, topic = re.compile(rf"git (?:-\S+ \S+ )*{verb}\b"), verb
    elif verb == "install":
        banned, topic = _INSTALLS, verb
    elif verb in _RUNS and words and words[0] not in _DETERMINERS:
        banned, topic = _command(" ".join(words)), words[0]
    return Ban(commands=(banned,), topic=topic) if banned else None


def _command(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:sudo |npx )?{re.escape(words)}(?:\s|$)")


def _object(rest: str) -> list[str]:
    """Return the words of the object that begins a text, without determiners."""
    return [word.strip("\"'()") for word in _OBJECT_END.split(rest, maxsplit=1)[0].split()]


def _paths_banned(rest: str, *, wholly: bool) -> Ban | None:
    words = [word for word in _object(rest) if word and word not in _DETERMINERS]
    paths = [word for word in words if _IS_PATH.search(word)]
    nouns = [] if paths or len(words) > _MOST_NOUNS else words[:1]
    names = tuple(filter(None, (split_path(name.rstrip("/*")) for name in paths or nouns)))
    return Ban(paths=names, topic=(paths or nouns)[0], wholly=wholly) if names else None


def broken_by(rule: str, steps: Sequence[Step]) -> list[EventRef]:
    """Return the later messages with calls that a rule forbids.

    Calls that failed do not count, nor do those after the user spoke of what is forbidden: they may be what
    the user asked for.
    """
    ban = ban_of(rule)
    acting = (
        [step for step in steps if step.acts and any(_breaks(ban, act) for act in step.acts)] if ban else []
    )
    if ban is None or not acting:
        return []
    spoken = (
        step.facts.seq for step in steps if step.said and any(ban.topic in each.text for each in step.said)
    )
    allowed_from = next(spoken, None)
    failed = {step.facts.result_of for step in steps if step.facts.is_error}
    return [
        EventRef(event=step.facts.id, seq=step.facts.seq)
        for step in acting
        if (allowed_from is None or step.facts.seq < allowed_from)
        and any(act.call.id not in failed and _breaks(ban, act) for act in step.acts)
    ]


def _breaks(ban: Ban, act: _Act) -> bool:
    if ban.commands:
        return any(each.match(command) for command in act.ran for each in ban.commands)
    if ban.wholly and "write" not in act.call.name.casefold():
        return False
    return any(_is_within(path, banned) for path in act.changed for banned in ban.paths)


_PIECE: Final = re.compile(r"[^a-z0-9]+")
_SHORTEST: Final = 3


def _is_within(path: Sequence[str], banned: Sequence[str]) -> bool:
    """Return True if a path leads through banned names, or its own name has a banned word."""
    length = len(banned)
    if any(tuple(path[at : at + length]) == tuple(banned) for at in range(len(path) - length + 1)):
        return True
    word = banned[0].removesuffix("s")
    if length > 1 or _PIECE.search(banned[0]) or len(word) < _SHORTEST:
        return False
    return any(piece.removesuffix("s") == word for name in path for piece in _PIECE.split(name))
