"""The sentences by which a user orders, forbids or prefers.

An order is an imperative ("read a.ts", "let's use tabs"), a statement of what has to be ("the theme must load",
"we need to port it"), or a sentence with "please", "make sure" or "from now on". A prohibition is a negated
imperative ("don't touch the tests"), "no" with a few words ("no emojis"), or a statement of what must not be. A
preference says what one wants, prefers or would rather have. Questions are none, also those that ask for
something ("can you use tabs"), nor is a go-ahead that says nothing by itself ("ok, do it", "continue").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from projections.extraction.imperative import is_imperative
from projections.extraction.prose import own_words, sentences

_LONGEST: Final = 600
"""Characters of a sentence; what is longer was not written as one."""
_MARKS: Final = re.compile(r"\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~")
_CODE: Final = re.compile(r"`[^`]*`")
_LINK: Final = re.compile(r"\[([^\]\[]{1,200})\]\([^()\s]{1,400}\)")
_ASIDE: Final = re.compile(r"\(([^()]*)\)")
_CLAUSE_ENDS: Final = re.compile(r"([,;:])+(?=\s|$)|\s[-–—>]{1,2}\s|[.!](?=\s)")  # noqa: RUF001  dashes
_WORD: Final = re.compile(r"[^\s\"“”,;:!?()\[\]{}…]+")

_OPENERS: Final = frozenset(
    """
    ok okay k alright right so soo sooo then now and also but or well actually yes yeah yep yup no nope nah hm hmm hmmm
    btw wait first firstly second secondly third thirdly next finally lastly additionally furthermore otherwise instead
    just simply anyway great good cool perfect nice fine thanks thx sure hey hi hello dude man guys jesus wow omfg omg
    ugh oh ah lol wtf important note reminder rule nb todo however therefore thus basically ideally generally
    either besides plus
    """.split()
)
"""Words that open a sentence and say nothing of what it is."""
_OPENING: Final = re.compile(
    r"(?:by the way|all right|to be clear|in general|for now|at least|i mean|thank you|of course|if possible|if needed"
    r"|in the meantime|one more thing|from now on|going forward|my dude|my friend)\b[\s,:;-]*"
)
_ASKS: Final = frozenset(
    """
    can could would will did does is are was were am what what's why how who whose whom which isn't aren't wasn't
    can't couldn't doesn't didn't won't wouldn't shouldn't any anyone
    """.split()
)
"""Words by which a question begins, with or without its mark."""
_ASKS_SUBJECT: Final = frozenset("do should have has had shall may".split())
"""Those by which one begins if a subject follows."""
_SUBJECTS: Final = frozenset("i we you he she it they this that these those there the".split())
_TAG: Final = re.compile(r",?\s*(?:ok|okay|alright|understood|got it|please)\s*\?+$")

_INTRODUCES: Final = frozenset(
    """
    if when whenever once before after unless until while for in on at with without during as since where wherever
    given by from under regarding because instead to every each any whatever like per
    """.split()
)
"""Words by which a clause begins that an order may follow: `before you commit, run the tests`."""

_NEVER_MIND: Final = re.compile(
    r"(?:don't|do not|dont) (?:know|think|see|understand|remember|recall|care|get|mean|want|have|need|like|seem|exist"
    r"|appear|work|match)\b|(?:don't|do not|dont) worry(?! about)\b|never (?:mind|\w+ed\b|seen|had|got|saw|did|was|been)"
)
_FORBIDS: Final = re.compile(r"(?:don't|dont|do not|do no t|never|not to|refrain from|no more)\s+(?!$)\S")
_NO: Final = re.compile(r"no\s+(?!one\b|such\b|longer\b|way\b|idea\b|problems?\b|worries\b|need\b|doubt\b|matter\b)")
_NO_IS_REPORTED: Final = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|can|could|at all|found|yet|\w+ed)$|\b(?:is|are|was|were|has|it|them|you|this|that)\b"
)
_REPORTED_NOUNS: Final = frozenset(
    """
    error errors issue issues change changes difference differences diff output result results luck response effect
    success warning warnings finding findings clue conflicts conflict comment hurry rush thanks
    """.split()
)
_MOST_WORDS_FORBIDDEN: Final = 4
_WITHOUT: Final = re.compile(r"\s+(?:without|unless|except|in|on|please)\b.*")

_HAS_TO: Final = re.compile(
    r"\b(?:must|should|shall|ought to|(?:need|needs|have|has) to(?! go\b)|(?:is|are) to be"
    r"|(?:is|are) (?:not allowed|forbidden|prohibited|required|mandatory|off[ -]limits)"
    r"|(?<=we )need (?!to\b|for\b|not\b))"
)
_NO_ORDER_BEFORE: Final = re.compile(
    r"\w,? that\b|\b(?:if|when|because|since|which|that's|what|what's|how|why|who|where|whether|says?|said|did|didn't|was|were"
    r"|assume|suppose|guess|hope|sure|i|don't|doesn't|not|nobody|could|would|might|may|maybe|than|as)\b"
)
_LIKELY: Final = re.compile(
    r"(?:must|should|shall) (?:have|be (?:a|an|the|because|something|due|wrong|missing|fine|ok|okay|good|correct|right"
    r"|enough|able|possible|there|done|easy|ready|safe|sufficient)\b|now\b|already\b|work\b|help\b|mean\b|suffice\b"
    r"|hopefully\b|probably\b|be good\b)"
)
_MOST_WORDS_BEFORE: Final = 12
_WANTS: Final = re.compile(
    r"(?:i|we)(?:'d|'ll| would| do| really| actually| just| basically| only| also| still| definitely| strongly| much)*"
    r" (?:want(?! to (?:know|understand|ask|learn|hear|thank|see if)\b)|wanna|prefer|insist|hate|would rather|rather"
    r"|need (?:you|it|this|that|the|an?|all|every|only)\b|like (?:to|it (?:when|if|better|more)|the \w+ (?:better|more)"
    r"|\w+ (?:better|more))\b|love (?:to|it if)\b|go with\b)"
    r"|(?:i|we) (?:don't|do not|dont|wouldn't|would not) (?:want|like|love|wanna)\b"
    r"|(?:my preference|i'd appreciate|i expect you)\b"
)
_ANYWHERE: Final = re.compile(
    r"\bplease\b|(?<!to )(?<!i )(?<!we )(?<!not )(?<!will )\b(?:make|be) sure\b"
    r"|\bfrom now on\b|\bgoing forward\b|\bin (?:the )?future\b"
)
_LETS: Final = re.compile(r"(?:let's|lets|let us) (?!me\b)\S")

_SAYS_NOTHING: Final = frozenset(
    """
    go ahead do does it that this these all so try again continue proceed keep going on start carry next until done
    first more please let's lets let us me yes no ok the a an now then you i we want to and with of be sure for
    thing things else actually just really finish them both one stop
    """.split()
)
"""Words of a go-ahead; a sentence of nothing else gives leave for what was said before."""


def instructions_in(text: str) -> list[str]:
    """The distinct sentences of a user's message that are instructions, in order.

    White space is collapsed and the marks of lists are left out, else they are as they stand. Fenced code,
    quotations, pasted output and what harnesses put in are not looked at.
    """
    return list(dict.fromkeys(filter(is_instruction, sentences(own_words(text)))))


def is_instruction(sentence: str) -> bool:
    """Whether a sentence orders, forbids or prefers something."""
    if len(sentence) > _LONGEST:
        return False
    plain = _TAG.sub("", _plain(sentence))
    words = _words(plain)
    if _SAYS_NOTHING.issuperset(words) or (len(words) == 1 and plain.endswith(":")) or _asks(plain):
        return False
    if any(_FORBIDS.match(_opened(aside)) for aside in _ASIDE.findall(plain)):
        return True
    plain = _ASIDE.sub(" ", plain)
    return any(_instructs(clause, is_free=is_free) for clause, is_free in _clauses(plain)) or bool(
        _ANYWHERE.search(plain) and len(words) > 2
    )


def _plain(sentence: str) -> str:
    """A sentence in lower case without marks of emphasis, spans of code as one word."""
    text = _LINK.sub(r"\1", sentence.replace("’", "'"))
    return _MARKS.sub("", _CODE.sub("`", text)).casefold().strip()


def _words(text: str) -> list[str]:
    return [word for word in (found.strip(".'") for found in _WORD.findall(text)) if word]


def _asks(plain: str) -> bool:
    if plain.rstrip(" \"')”").endswith("?"):
        return True
    words = _words(_opened(plain))
    if not words:
        return False
    if words[0] in _ASKS_SUBJECT:
        return len(words) > 1 and words[1] in _SUBJECTS
    return words[0] in _ASKS


def _opened(clause: str) -> str:
    """A clause without the words that open it and say nothing of what it is."""
    clause = clause.lstrip(" .,;:!?-–—>\"'“(")
    while True:
        word = _WORD.match(clause)
        if opening := _OPENING.match(clause):
            clause = clause[opening.end() :]
        elif word and word[0].strip(".") in _OPENERS and not _NO.match(clause):
            clause = clause[word.end() :].lstrip(" .,;:!?-–—>\"'”)")
        else:
            return clause


def _clauses(plain: str) -> Iterator[tuple[str, bool]]:
    """The clauses of a sentence, each with whether nothing before it tells how things are."""
    is_free = True
    start = 0
    for end in [*_CLAUSE_ENDS.finditer(plain), None]:
        clause = _opened(plain[start : end.start() if end else None])
        start = end.end() if end else start
        words = _words(clause)
        if not words:
            continue
        yield clause, is_free
        introduces = words[0] in _INTRODUCES or len(words) <= 2 or is_imperative(words) or (end and end[1] == ":")
        is_free = is_free and introduces


def _instructs(clause: str, *, is_free: bool) -> bool:
    words = _words(clause)
    return (
        (is_imperative(words, strictly=not is_free) and not _SAYS_NOTHING.issuperset(words))
        or _LETS.match(clause) is not None
        or _forbids(clause)
        or _WANTS.match(clause) is not None
        or _has_to(clause)
    )


def _forbids(clause: str) -> bool:
    if _NEVER_MIND.match(clause):
        return False
    if _FORBIDS.match(clause):
        return True
    no = _NO.match(clause)
    if not no:
        return False
    forbidden = _WITHOUT.sub("", clause[no.end() :]).strip(" .!")
    words = _words(forbidden)
    return (
        0 < len(words) <= _MOST_WORDS_FORBIDDEN
        and not _REPORTED_NOUNS.intersection(words)
        and not _NO_IS_REPORTED.search(forbidden)
    )


def _has_to(clause: str) -> bool:
    match = _HAS_TO.search(clause)
    if not match or _LIKELY.match(clause, match.start()):
        return False
    before = re.sub(r"^(?:i|we) (?:do )?(?:really |also |just )?(?:think|believe|feel)\b(?: that)?", "", clause[: match.start()])
    return len(_words(before)) <= _MOST_WORDS_BEFORE and not _NO_ORDER_BEFORE.search(before)
