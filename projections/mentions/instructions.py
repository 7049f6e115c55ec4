"""Find the sentences by which a user orders, forbids or prefers something.

An order is an imperative ("read a.ts", "let's use tabs"), a statement of what must be ("the theme must load",
"we need to port it"), or a sentence with "please", "make sure" or "from now on". A prohibition is a negated
imperative ("don't touch the tests"), "no" with a few words ("no emojis"), or a statement of what must not be.
A preference says what the user wants, prefers or would rather have. Questions do not count, even requests
("can you use tabs"); neither does a go-ahead that says nothing by itself ("ok, do it").
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile
from typing import Final, NamedTuple

from projections.mentions.prose import prose_lines, sentences
from projections.mentions.wording import (
    ADVERBS,
    ALSO_NOUNS,
    ASKS,
    ASKS_SUBJECT,
    DETERMINERS,
    FINITE,
    INTRODUCES,
    NO_CONTENT_KINDS,
    ONLY_OF_VERBS,
    OPENERS,
    PREPOSITIONS,
    REPORTS,
    SUBJECTS,
    TAKE_A_DOING,
    VERBS,
)

_SHORT: Final = 1
"""Words after a possible noun that need no article: `commit changes`."""
_NEAR: Final = 2
_REACH: Final = 3
"""Words after a verb in which another verb reveals it as a noun; fewer if it rarely is one."""
_NAME: Final = re.compile(r".*[/_@\d`]|.*\w\.\w")


def is_imperative(words: Sequence[str], *, follows: bool = False, is_lead: bool = True) -> bool:
    """Return True if a clause, given as words in lower case, is an imperative.

    Adverbs may precede the verb. `follows`: it comes after statements, so it needs an object. `is_lead`: it
    begins a sentence and is not a title before a colon, so a possible noun needs no article.
    """
    rest = list(dropwhile(ADVERBS.__contains__, words))
    if not rest or (rest[0] not in VERBS and rest[0] not in ALSO_NOUNS):
        return False
    verb, after = rest[0], list(dropwhile(ADVERBS.__contains__, rest[1:]))
    if not after:
        return not follows and (verb in VERBS or words[0] in ONLY_OF_VERBS)
    if after[0] in DETERMINERS:
        return True
    if after[0] in FINITE or (verb in ("do", "have", "be") and after[0] in SUBJECTS | {"to"}):
        return False
    is_surely_verb = verb in VERBS and not follows and FINITE.isdisjoint(after[:_NEAR])
    if is_surely_verb or words[0] in ONLY_OF_VERBS or (verb in TAKE_A_DOING and after[0].endswith("ing")):
        return True
    has_object = (
        after[0] in PREPOSITIONS
        or (_NAME.match(after[0]) is not None and not follows)
        or (len(after) <= _SHORT and is_lead and not follows)
    )
    return has_object and FINITE.isdisjoint(after[:_REACH])


_REMEMBERED: Final = 1 << 12
"""Sentences to cache, because people repeat themselves."""
LONGEST_SENTENCE: Final = 600
"""Characters of a sentence; anything longer was not written as one."""
_SPELLED: Final = re.compile(r"(?<![\w./\\-])[a-z']+(?![\w./\\-]*\w)")
"""A word that is no part of a name."""
_NO_VERBS: Final = frozenset[str]()
_IMPERATIVES: Final = VERBS | ALSO_NOUNS
_BEFORE_IMPERATIVES: Final = (
    ADVERBS | OPENERS | frozenset("always and don't dont let's lets never not to you".split())
)
QUOTES: Final = ('"', "“", "'", "‘", "«")  # noqa: RUF001  quotation marks
"""A sentence that starts with one of these is a quotation."""
_MARKS: Final = re.compile(r"\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~")
_CODE: Final = re.compile(r"`[^`]*`")
_LINK: Final = re.compile(r"\[([^\]\[]{1,200})\]\([^()\s]{1,400}\)")
_ASIDE: Final = re.compile(r"\(([^()]*)\)")
_CLAUSE_END: Final = re.compile(r"([,;:])+(?=\s|$)|\s[-–—>]{1,2}\s|[.!](?=\s)")  # noqa: RUF001  dashes
_WORD: Final = re.compile(r"[^\s\"“”,;:!?()\[\]{}…]+")
_AROUND: Final = " .,;:!?-–—>\"'“”)("  # noqa: RUF001  dashes, quotation marks

_OPENING: Final = re.compile(
    r"(?:all right|at least|by the way|for now|from (?:here|now|this point) on|going forward|i mean|if needed"
    r"|if possible|in general|in the meantime|my dude|of course|one more thing|thank you|to be clear)\b"
)
_TAG: Final = re.compile(r",?\s*(?:ok|okay|alright|understood|got it|please)\s*\?+$")
"""A tag question, which only asks for agreement."""
_FEW: Final = 2

_LETS: Final = re.compile(r"(?:let's|lets|let us) (?!me\b)\S")
_FORBIDS: Final = re.compile(
    r"(?:don't|dont|do not|never(?! \w+(?:[^s]s|ed)\b)|refrain from|no more)\s+"
    r"(?!know|think|understand|remember|recall|seem|exist|appear|match|worry(?! about)"
    r"|(?:been|by|care|did|got|had|have|mean|mind|need|see|seen|want|was)\b)\S"
)
_NO: Final = re.compile(r"no\s+(?!(?:doubt|idea|longer|matter|need|one\b(?!-)|problems?|such|way|worries)\b)")
_MOST_FORBIDDEN: Final = 4
"""Words after a forbidding "no"; with more words it reports a fact."""
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
"""Uses of such a verb that state a likelihood."""
_EXPECTS: Final = re.compile(
    r"(?:it|this|that|these|those|they|everything) should (?!(?:always|be|never|not|only)\b)"
)
_I_THINK: Final = re.compile(r"(?:i|we) (?:do |really |also |just )?(?:think|believe|feel)\b(?: that)?")
_TELLS: Final = re.compile(
    r"\w,? that\b|\b(?:as|assume|because|could|did|didn't|doesn't|don't|guess|hope|how|i|if|may|maybe|might"
    r"|nobody|not|said|says?|since|suppose|sure|than|that's|was|were|what|what's|when|where|whether|which|who"
    r"|why|would)\b"
)
"""Words before such a verb in a sentence that only reports an obligation."""
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
    r"|\b(?:from (?:here|now|this point) on|going forward|in (?:the )?future)\b"
)
"""Phrases that mark an instruction anywhere in a sentence."""


_DECIDING: Final = (
    "after always anything avoid because before ensure every everything instead never only please prefer"
    " remember should unless until whenever without"
).split()
"""Words in which typing errors are mended wherever they are in a sentence."""
_SHORT_FORMS: Final = {
    "teh": "the",
    "hte": "the",
    "nto": "not",
    "dotn": "don't",
    "dnot": "don't",
    "pls": "please",
    "plz": "please",
    "mustnt": "mustn't",
    "shouldnt": "shouldn't",
    "cant": "can't",
    "msut": "must",
    "adn": "and",
}
_SPLIT: Final = re.compile(r"\bno t\b")
_LETTERS: Final = re.compile(r"[a-z]+")
_SHORTEST: Final = 4
"""Letters of a word to mend; shorter ones differ by a letter anyway."""
_OTHER_WORDS: Final = frozenset("chose clam ever form rest trail".split())
"""Words that are one letter from a verb and no typing errors of it."""
_ENDINGS: Final = ("s", "d", "r", "n", "y", "e")
"""A letter that makes another word of a word: `reads`, `ready`."""


def mended(word: str, verbs: frozenset[str] = _NO_VERBS) -> str:
    """Return a word in lower case, without a typing error in a marker or one of `verbs`.

    An error is a letter missing, doubled or added, or two letters swapped. The first letter must be right.
    """
    if word in _SHORT_FORMS:
        return _SHORT_FORMS[word]
    if len(word) < _SHORTEST or word in _OTHER_WORDS or not _LETTERS.fullmatch(word):
        return word
    return _meant(word, verbs)


@lru_cache(maxsize=1 << 14)
def _meant(word: str, verbs: frozenset[str]) -> str:
    if word in verbs or word in _DECIDING:
        return word
    near = _by_letter_and_length(verbs)
    alike = (each for length in (-1, 0, 1) for each in near.get((word[0], len(word) + length), ()))
    found = {each for each in alike if _is_error_of(word, each)}
    return found.pop() if len(found) == 1 else word


@lru_cache(maxsize=4)
def _by_letter_and_length(verbs: frozenset[str]) -> dict[tuple[str, int], list[str]]:
    """Group the words that may be misspelled by their first letter and their length."""
    near = defaultdict[tuple[str, int], list[str]](list)
    for each in (*_DECIDING, *verbs):
        near[each[0], len(each)].append(each)
    return near


def _is_error_of(word: str, meant: str) -> bool:
    """Return True if a word is `meant` with an error.

    Both begin with the same letter, and their lengths differ by one at most.
    """
    if len(meant) < _SHORTEST or (word[:-1] == meant and word.endswith(_ENDINGS)):
        return False
    if sorted(word) == sorted(meant):
        from rapidfuzz.distance import OSA  # noqa: PLC0415  heavy

        return OSA.distance(word, meant, score_cutoff=1) == 1
    if len(word) == len(meant) or len(meant) == _SHORTEST:
        return False
    from rapidfuzz.distance import Indel  # noqa: PLC0415  heavy

    return Indel.distance(word, meant, score_cutoff=1) == 1


class _Clause(NamedTuple):
    """A part of a sentence.

    `follows`: it comes after statements. `is_lead`: it begins the sentence.
    """

    text: str
    words: Sequence[str]
    follows: bool
    is_lead: bool


def instructions_in(text: str) -> list[str]:
    """Return the distinct sentences of a user's message that are instructions, in order.

    White space is collapsed and list marks are removed. Fenced code, quotations, pasted output and text that
    harnesses inserted are skipped.
    """
    return list(dict.fromkeys(filter(is_instruction, sentences(prose_lines(text)))))


def is_instruction(sentence: str) -> bool:
    """Return True if a sentence orders, forbids or prefers something."""
    return len(sentence) <= LONGEST_SENTENCE and not sentence.startswith(QUOTES) and _is_instruction(sentence)


@lru_cache(maxsize=_REMEMBERED)
def _is_instruction(sentence: str) -> bool:
    plain = _TAG.sub("", simplified(sentence))
    words = words_of(plain)
    if _says_nothing(words) or is_question(plain):
        return False
    if any(_FORBIDS.match(_opened(aside)) for aside in _ASIDE.findall(plain)):
        return True
    clauses = list(_clauses(_ASIDE.sub(" ", plain)))
    return (
        any(map(_instructs, clauses))
        or (bool(clauses) and all(_rules_out(clause.text) for clause in clauses))
        or (len(words) > _FEW and _ANYWHERE.search(plain) is not None)
    )


_WITHOUT_APOSTROPHE: Final = re.compile(r"(?:^|(?<=[,;:] ))lets\b")
"""A proposal without its apostrophe, rather than a verb: "it lets you …"."""


def simplified(sentence: str) -> str:
    """Return a sentence in lower case without emphasis and typing errors.

    Each code span is reduced to one word.
    """
    text = _LINK.sub(r"\1", sentence.replace("’", "'"))  # noqa: RUF001  an apostrophe
    return mend(_WITHOUT_APOSTROPHE.sub("let's", _MARKS.sub("", _CODE.sub("`", text)).casefold().strip()))


def mend(plain: str) -> str:
    """Mend typing errors of a text in lower case, in words that decide and in imperatives."""
    plain = _SPLIT.sub("not", plain)
    parts, end, may_order = [], 0, True
    for found in _SPELLED.finditer(plain):
        between = plain[end : found.start()]
        word = mended(found[0], _IMPERATIVES if may_order or _CLAUSE_END.search(between) else _NO_VERBS)
        parts += [between, word]
        may_order = word in _BEFORE_IMPERATIVES
        end = found.end()
    return "".join(parts) + plain[end:]


def words_of(text: str) -> list[str]:
    return [word for found in _WORD.findall(text) if (word := found.strip(".'"))]


def _says_nothing(words: Sequence[str]) -> bool:
    return all(word in NO_CONTENT_KINDS or len(word) == 1 for word in words)


def is_question(plain: str) -> bool:
    if plain.rstrip(_AROUND.replace("?", "")).endswith("?"):
        return True
    first, second, *_ = [*words_of(_opened(plain)), "", ""]
    return first in ASKS or (first in ASKS_SUBJECT and second in SUBJECTS)


def _opened(clause: str) -> str:
    """Return a clause without its opening words."""
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
    """Return True if "no" is an answer followed by an order: `no remove this`."""
    _, first, second, *_ = [*words_of(clause), "", ""]
    return first in VERBS and second in DETERMINERS


def clause_texts(plain: str) -> list[str]:
    """Return the clauses of a simplified sentence without asides and opening words."""
    asides = [_opened(aside) for aside in _ASIDE.findall(plain)]
    return [clause.text for clause in _clauses(_ASIDE.sub(" ", plain))] + asides


def _clauses(plain: str) -> Iterator[_Clause]:
    start, follows, is_first = 0, False, True
    for end in [*_CLAUSE_END.finditer(plain), None]:
        text = _opened(plain[start : end.start() if end else None])
        start = end.end() if end else start
        words = words_of(text)
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
    """Return True if a clause is "no" plus something unwanted."""
    no = _NO.match(clause)
    if not no:
        return False
    words = words_of(_WITHOUT.sub("", clause[no.end() :]))
    is_report = not REPORTS.isdisjoint(words) or (bool(words) and words[-1].endswith("ed"))
    return 0 < len(words) <= _MOST_FORBIDDEN and not is_report


def _has_to(clause: str) -> bool:
    """Return True if a clause says what must or must not be, not what is likely."""
    clause = _I_THINK.sub("", clause, count=1).lstrip()
    verb = _HAS_TO.search(clause)
    if not verb or _SUPPOSES.match(clause, verb.start()) or _EXPECTS.match(clause):
        return False
    subject = clause[: verb.start()]
    return len(words_of(subject)) <= _LONGEST_SUBJECT and not _TELLS.search(subject)
