"""The sentences by which a user orders, forbids or prefers.

An order is an imperative ("read a.ts", "let's use tabs"), a statement of what has to be ("the theme must load",
"we need to port it"), or a sentence with "please", "make sure" or "from now on". A prohibition is a negated
imperative ("don't touch the tests"), "no" with a few words ("no emojis"), or a statement of what must not be. A
preference says what one wants, prefers or would rather have. Questions are none of these, also those that ask
for something ("can you use tabs"); nor is a go-ahead that says nothing by itself ("ok, do it").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from projections.extraction.imperative import is_imperative
from projections.extraction.instruction_words import (
    ASKS,
    ASKS_SUBJECT,
    DETERMINERS,
    INTRODUCES,
    OPENERS,
    REPORTS,
    SAYS_NOTHING,
    SUBJECTS,
    VERBS,
)
from projections.extraction.prose import own_words, sentences

_REMEMBERED: Final = 1 << 12
"""Sentences that are remembered: people say the same things again."""
_LONGEST: Final = 600
"""Characters of a sentence; what is longer was not written as one."""
_QUOTES: Final = ('"', "“", "'", "‘", "«")  # noqa: RUF001  quotation marks
"""A sentence that begins with one is somebody's words."""
_MARKS: Final = re.compile(r"\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~")
_CODE: Final = re.compile(r"`[^`]*`")
_LINK: Final = re.compile(r"\[([^\]\[]{1,200})\]\([^()\s]{1,400}\)")
_ASIDE: Final = re.compile(r"\(([^()]*)\)")
_CLAUSE_END: Final = re.compile(r"([,;:])+(?=\s|$)|\s[-–—>]{1,2}\s|[.!](?=\s)")  # noqa: RUF001  dashes
_WORD: Final = re.compile(r"[^\s\"“”,;:!?()\[\]{}…]+")
_AROUND: Final = " .,;:!?-–—>\"'“”)("  # noqa: RUF001  dashes, quotation marks

_OPENING: Final = re.compile(
    r"(?:all right|at least|by the way|for now|from now on|going forward|i mean|if needed|if possible|in general"
    r"|in the meantime|my dude|of course|one more thing|thank you|to be clear)\b"
)
_TAG: Final = re.compile(r",?\s*(?:ok|okay|alright|understood|got it|please)\s*\?+$")
"""A question that asks for no more than a nod."""
_FEW: Final = 2

_LETS: Final = re.compile(r"(?:let's|lets|let us) (?!me\b)\S")
_FORBIDS: Final = re.compile(
    r"(?:don't|dont|do not|never(?! \w+(?:[^s]s|ed)\b)|refrain from|no more)\s+"
    r"(?!know|think|understand|remember|recall|seem|exist|appear|match|worry(?! about)"
    r"|(?:been|by|care|did|got|had|have|mean|mind|need|see|seen|want|was)\b)\S"
)
_NO: Final = re.compile(r"no\s+(?!(?:doubt|idea|longer|matter|need|one|problems?|such|way|worries)\b)")
_MOST_FORBIDDEN: Final = 4
"""Words after a "no" that forbids; more of them report."""
_WITHOUT: Final = re.compile(r"\s+(?:without|unless|except|in|on|please)\b.*")

_HAS_TO: Final = re.compile(
    r"\b(?:(?:must|should|shall|ought to|(?:need|needs|have|has) to|(?:is|are) to be)\b"
    r"|(?:is|are) (?:not allowed|forbidden|prohibited|required|mandatory|off[ -]limits)\b"
    r"|(?<=we )need (?!for\b|not\b))"
)
_SUPPOSES: Final = re.compile(
    r"(?:must|should|shall) (?:(?:already|have|help|hopefully|mean|now|probably|suffice|work)\b"
    r"|be (?:able|an?|because|correct|done|due|easy|enough|fine|good|missing|ok|okay|possible|ready|right|safe"
    r"|something|sufficient|the|there|wrong|\w+ing)\b)"
)
"""Where such a verb says what likely is."""
_EXPECTS: Final = re.compile(
    r"(?:it|this|that|these|those|they|everything) should (?!(?:always|be|never|not|only)\b)"
)
_I_THINK: Final = re.compile(r"(?:i|we) (?:do |really |also |just )?(?:think|believe|feel)\b(?: that)?")
_TELLS: Final = re.compile(
    r"\w,? that\b|\b(?:as|assume|because|could|did|didn't|doesn't|don't|guess|hope|how|i|if|may|maybe|might"
    r"|nobody|not|said|says?|since|suppose|sure|than|that's|was|were|what|what's|when|where|whether|which|who"
    r"|why|would)\b"
)
"""What stands before such a verb in a sentence that only tells of an obligation."""
_LONGEST_SUBJECT: Final = 12
"""Words before such a verb."""
_WANTS: Final = re.compile(
    r"(?:i|we)(?:'d|'ll| (?:would|do|really|actually|just|basically|only|also|still|definitely|strongly))* "
    r"(?:want(?! to (?:ask|hear|know|learn|see if|thank|understand)\b)|wanna|prefer|insist|hate|rather|go with\b"
    r"|need (?:all|an?|every|it|only|that|the|this|you)\b"
    r"|like (?:it (?:when|if|better|more)|(?:the )?\w+(?: \w+)? (?:better|more))\b)"
    r"|(?:i|we)(?:'d| would) (?:really |also )?(?:like|love)\b(?! to (?:ask|hear|know|learn|see if|understand)\b)"
    r"|(?:i|we) (?:don't|do not|dont|wouldn't|would not) (?:want|like|love|wanna)\b"
    r"|(?:my preference|i'd appreciate|i expect you)\b"
)
_ANYWHERE: Final = re.compile(
    r"\bplease\b|(?<!to )(?<!i )(?<!we )(?<!not )(?<!will )\b(?:make|be) sure\b"
    r"|\b(?:from now on|going forward|in (?:the )?future)\b"
)
"""What tells an instruction wherever it stands."""


class _Clause(NamedTuple):
    """A part of a sentence; `follows` parts that tell how things are; `is_lead` if it begins the sentence."""

    text: str
    words: Sequence[str]
    follows: bool
    is_lead: bool


def instructions_in(text: str) -> list[str]:
    """The distinct sentences of a user's message that are instructions, in order.

    White space is collapsed and the marks of lists are left out, else they are as they stand. Fenced code,
    quotations, pasted output and what harnesses put in are not looked at.
    """
    return list(dict.fromkeys(filter(is_instruction, sentences(own_words(text)))))


def is_instruction(sentence: str) -> bool:
    """Whether a sentence orders, forbids or prefers something."""
    return len(sentence) <= _LONGEST and not sentence.startswith(_QUOTES) and _is_instruction(sentence)


@lru_cache(maxsize=_REMEMBERED)
def _is_instruction(sentence: str) -> bool:
    plain = _TAG.sub("", _plain(sentence))
    words = _words(plain)
    if _says_nothing(words) or _asks(plain):
        return False
    if any(_FORBIDS.match(_opened(aside)) for aside in _ASIDE.findall(plain)):
        return True
    clauses = list(_clauses(_ASIDE.sub(" ", plain)))
    return (
        any(map(_instructs, clauses))
        or (bool(clauses) and all(_rules_out(clause.text) for clause in clauses))
        or (len(words) > _FEW and _ANYWHERE.search(plain) is not None)
    )


def _plain(sentence: str) -> str:
    """A sentence in lower case without marks of emphasis, each span of code as one word."""
    text = _LINK.sub(r"\1", sentence.replace("’", "'"))  # noqa: RUF001  an apostrophe
    return _MARKS.sub("", _CODE.sub("`", text)).casefold().strip()


def _words(text: str) -> list[str]:
    return [word for found in _WORD.findall(text) if (word := found.strip(".'"))]


def _says_nothing(words: Sequence[str]) -> bool:
    return all(word in SAYS_NOTHING or len(word) == 1 for word in words)


def _asks(plain: str) -> bool:
    if plain.rstrip(_AROUND.replace("?", "")).endswith("?"):
        return True
    first, second, *_ = [*_words(_opened(plain)), "", ""]
    return first in ASKS or (first in ASKS_SUBJECT and second in SUBJECTS)


def _opened(clause: str) -> str:
    """A clause from where it begins to say something."""
    while True:
        clause = clause.lstrip(_AROUND)
        word = _WORD.match(clause)
        opening = _OPENING.match(clause) or (word if word and word[0].strip(".") in OPENERS else None)
        if not opening:
            return clause
        if opening[0] == "no" and _NO.match(clause) and not _answers(clause):
            return clause
        clause = clause[opening.end() :]


def _answers(clause: str) -> bool:
    """Whether a "no" is an answer, and what follows it an order: `no remove this`."""
    _, first, second, *_ = [*_words(clause), "", ""]
    return first in VERBS and second in DETERMINERS


def _clauses(plain: str) -> Iterator[_Clause]:
    start, follows, is_first = 0, False, True
    for end in [*_CLAUSE_END.finditer(plain), None]:
        text = _opened(plain[start : end.start() if end else None])
        start = end.end() if end else start
        words = _words(text)
        is_title = end is not None and end[1] == ":"
        if not words or (is_title and len(words) == 1):
            continue
        clause = _Clause(text, words, follows, is_first and not is_title)
        yield clause
        is_first = False
        follows = follows or not (is_title or len(words) <= _FEW or words[0] in INTRODUCES or _orders(clause))


def _instructs(clause: _Clause) -> bool:
    return (
        _orders(clause)
        or _LETS.match(clause.text) is not None
        or _FORBIDS.match(clause.text) is not None
        or _WANTS.match(clause.text) is not None
        or _has_to(clause.text)
    )


def _orders(clause: _Clause) -> bool:
    return not _says_nothing(clause.words) and is_imperative(
        clause.words, follows=clause.follows, is_lead=clause.is_lead
    )


def _rules_out(clause: str) -> bool:
    """Whether a clause is a "no" with what is not wanted."""
    no = _NO.match(clause)
    if not no:
        return False
    words = _words(_WITHOUT.sub("", clause[no.end() :]))
    is_report = not REPORTS.isdisjoint(words) or (bool(words) and words[-1].endswith("ed"))
    return 0 < len(words) <= _MOST_FORBIDDEN and not is_report


def _has_to(clause: str) -> bool:
    """Whether a clause says what must be or must not be, not what likely is."""
    clause = _I_THINK.sub("", clause, count=1).lstrip()
    verb = _HAS_TO.search(clause)
    if not verb or _SUPPOSES.match(clause, verb.start()) or _EXPECTS.match(clause):
        return False
    subject = clause[: verb.start()]
    return len(_words(subject)) <= _LONGEST_SUBJECT and not _TELLS.search(subject)
