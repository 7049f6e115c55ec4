"""Whether a clause is in the imperative: begins with a verb that tells someone to do something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile
from typing import Final

_VERBS: Final = frozenset(
    """
    act add adhere adjust adopt aggregate aim allow analyse analyze annotate append apply argue ask assert assign
    assume attach avoid be begin bring bump carry check choose cite clarify clone collapse collect combine compare
    compile comply compute configure confirm consider consult continue contrast convert create decide declare
    decouple deduplicate define delete deploy deprecate derive describe determine disable discard discuss do
    download edit eliminate embed emit emphasize enable enforce ensure enumerate evaluate examine exclude execute
    expand explain explore expose extend extract figure find finish fix flatten focus follow generate get give go
    guarantee have hide highlight hold identify ignore implement improve include incorporate inform inject inline
    insert inspect install instrument integrate introduce invent investigate invoke isolate join keep kill launch
    leave listen look maintain make merge migrate minimize modify move normalize notify obey omit optimize organize
    override perform pick polish populate prefer prefix prepare preserve pretend prevent prioritize proceed produce
    propose protect prove provide prune put quote raise re-read re-run re-use read rebase rebuild recheck
    reconsider redo reduce refactor refer refine refrain regenerate reject rely remember remind remove rename
    render reorder repeat rephrase replace reply reproduce request rerun research resolve respect respond restart
    restore restrict restructure resume retain rethink retry return reuse revert review revisit rework rewrite
    rotate run save send shorten simplify skip sleep solve spawn specify squash stay stick stop strip submit
    substitute suggest summarise summarize switch synchronize tackle take talk teach tell terminate think throw
    tidy toggle translate treat trim try undo unify uninstall unmonitor update upgrade use utilize validate verify
    wait wrap write
    """.split()
)
"""Verbs in their base form that seldom begin a clause as anything else."""
_ALSO_NOUNS: Final = frozenset(
    """
    adapt address answer benchmark branch browse build cache call capture change clean close comment commit
    complete copy correct cover cross-check cut debug delegate design display document double-check draft drop
    escape export fetch fill filter flag flip format grep group guard help import index initialize know label limit
    link lint list load lock log map mark match mention mirror mock monitor name note open order pass paste patch
    pin plan point port present print publish pull push query rank record reference release report require reset
    scan schedule scope score search see select separate set share ship show sort split start store structure study
    support swap tag target test time trace track transfer trigger tune turn type visit walk watch work yield
    """.split()
)
"""Verbs that are as often nouns or adjectives: imperatives only where an object follows."""
_DETERMINERS: Final = frozenset(
    """
    a all an another any anything both each either enough every everything her him his how if it its just less me more
    most my myself no nothing one only other our please some something such that the their them these this those us
    what whatever when where whether which your yourself
    """.split()
)
"""Words by which an object begins: a noun does not stand before them."""
_PREPOSITIONS: Final = frozenset(
    """
    about above after against ahead along around as at away back before behind below between by down for forward from
    in inside into like of off on onto out over properly through to together until under up upon via while with within
    without
    """.split()
)
"""Words by which a complement begins, of a verb or of a noun."""
_SUBJECTS: Final = frozenset("i we you he she they".split())
_FINITE: Final = frozenset(
    """
    is are was were am has had does did will would can could shall should may might must isn't aren't wasn't weren't
    hasn't hadn't doesn't didn't won't wouldn't can't couldn't shouldn't mustn't fails failed passes passed works worked
    shows showed seems seemed looks looked says said means meant needs needed takes took gets got goes went comes came
    happens happened exists existed contains contained uses used runs ran returns returned makes made appears appeared
    remains remained becomes became causes caused results resulted proves covers lives
    """.split()
)
"""Verbs that have a subject: what stands before them is no order."""
_ADVERBS: Final = frozenset(
    """
    absolutely actually again always also briefly carefully definitely directly either explicitly first immediately
    instead just kindly maybe now only or perhaps please pls quickly really simply still then
    """.split()
)
_ONLY_OF_VERBS: Final = frozenset("always kindly only please pls".split())
"""Adverbs that go before no noun."""
_TAKE_A_DOING: Final = frozenset("avoid begin continue keep start stop try".split())
_SHORT: Final = 1
"""Words after a verb that need no article: `commit changes`."""
_NEAR: Final = 2
_REACH: Final = 3
"""Words after a verb among which another one tells that it is a noun; fewer where it seldom is."""
_NAME: Final = re.compile(r".*[/_@\d`]|.*\w\.\w")


def is_imperative(words: Sequence[str], *, follows: bool = False, is_lead: bool = True) -> bool:
    """Whether a clause, given as its words in lower case, is an imperative; adverbs may go before the verb.

    `follows`: it comes after clauses that tell how things are, so that it needs an object. `is_lead`: it begins
    a sentence and is no title before a colon, so that what may be a noun needs no article.
    """
    rest = list(dropwhile(_ADVERBS.__contains__, words))
    if not rest or (rest[0] not in _VERBS and rest[0] not in _ALSO_NOUNS):
        return False
    verb, after = rest[0], list(dropwhile(_ADVERBS.__contains__, rest[1:]))
    if not after:
        return not follows and verb in _VERBS
    if after[0] in _DETERMINERS:
        return True
    if after[0] in _FINITE or (verb in ("do", "have", "be") and after[0] in _SUBJECTS | {"to"}):
        return False
    is_surely_verb = verb in _VERBS and not follows and _FINITE.isdisjoint(after[:_NEAR])
    if is_surely_verb or words[0] in _ONLY_OF_VERBS or (verb in _TAKE_A_DOING and after[0].endswith("ing")):
        return True
    has_object = (
        after[0] in _PREPOSITIONS
        or (is_name(after[0]) and not follows)
        or (len(after) <= _SHORT and is_lead)
    )
    return has_object and _FINITE.isdisjoint(after[:_REACH])


def is_name(word: str) -> bool:
    """Whether a word names something in code: a path, a symbol, an option, a number."""
    return _NAME.match(word) is not None
