"""Whether a clause is in the imperative: begins with a verb that tells someone to do something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile
from typing import Final

from projections.extraction.instruction_words import (
    ADVERBS,
    ALSO_NOUNS,
    DETERMINERS,
    FINITE,
    ONLY_OF_VERBS,
    PREPOSITIONS,
    SUBJECTS,
    TAKE_A_DOING,
    VERBS,
)

_SHORT: Final = 1
"""Words after what may be a noun that need no article: `commit changes`."""
_NEAR: Final = 2
_REACH: Final = 3
"""Words after a verb among which another one tells that it is a noun; fewer where it seldom is."""
_NAME: Final = re.compile(r".*[/_@\d`]|.*\w\.\w")


def is_imperative(words: Sequence[str], *, follows: bool = False, is_lead: bool = True) -> bool:
    """Whether a clause, given as its words in lower case, is an imperative; adverbs may go before the verb.

    `follows`: it comes after clauses that tell how things are, so that it needs an object. `is_lead`: it begins
    a sentence and is no title before a colon, so that what may be a noun needs no article.
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
