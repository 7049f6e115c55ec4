"""List the words by which orders, prohibitions and questions are recognized."""

from __future__ import annotations

from typing import Final

NEGATED: Final = (
    r"(?:don't|dont|do not|never(?! ?mind\b)|must not|mustn't|should not|shouldn't|may not|can not|cannot"
    r"|can't)"
)
"""A pattern of words that forbid the verb behind them."""
VERBS: Final = frozenset(
    "accept act activate add adhere adjust adopt aggregate aim allow analyse analyze annotate append apply"
    " archive argue ask assert assess assign assume attach avoid be begin bring bump calculate cancel carry"
    " check choose cite clarify clone collapse collect combine compare compile comply compute configure"
    " confirm connect consider consolidate consult continue contrast convert create decide declare decouple"
    " deduplicate define delete deploy deprecate derive describe detect determine disable discard discuss do"
    " download edit eliminate embed emit emphasize enable enforce ensure enumerate establish evaluate examine"
    " exclude execute expand explain explore expose extend extract figure find finish fix flatten focus follow"
    " generate get give go guarantee hardcode have hide highlight hold identify ignore implement improve"
    " include incorporate increase inform inject inline insert inspect install instrument integrate introduce"
    " invent invert investigate invoke isolate join keep kill launch leave listen look maintain make merge"
    " migrate minimize modify move normalize notify obey omit optimize organize override parse pause perform"
    " pick polish populate prefer prefix prepare preserve pretend prevent prioritize proceed produce propose"
    " protect prove provide prune put quit quote raise re-read re-run re-use read rebase rebuild recheck"
    " reconsider recreate redo reduce refactor refer refine reformat refrain regenerate reject rely remember"
    " remind remove rename render reorder repeat rephrase replace reply reproduce request rerun research"
    " resolve respect respond restart restore restrict restructure resume retain rethink retry return reuse"
    " revert review revisit reword rework rewrite rotate run save scaffold send shorten simplify skip sleep"
    " solve spawn speak specify squash stay stick stop strip submit substitute suggest summarise summarize switch"
    " synchronize tackle take talk teach tell terminate think throw tidy toggle translate treat trim try undo"
    " unify uninstall unpin unset update upgrade use utilize validate verify wait wrap write".split()
)
"""Verbs in their base form that rarely start a clause in any other role."""
ALSO_NOUNS: Final = frozenset(
    "abort adapt address answer back benchmark block branch browse build cache call capture change clean"
    " close comment commit complete copy correct count cover cross-check cut debug delegate design display"
    " document double-check draft drop escape estimate export fetch fill filter flag flip format grep group"
    " guard help import index initialize know label limit link lint list load lock log map mark match mention"
    " mirror mock monitor name note open order pass paste patch pin plan point port present print process"
    " publish pull push query rank record reference release report require reset scan schedule scope score"
    " search see select separate set share ship show sort split stage start stash store stream structure study"
    " support swap sync tag target test time touch trace track transfer trigger tune turn type view visit walk watch"
    " wire work yield".split()
)
"""Verbs that are as often nouns or adjectives: imperatives only if an object follows."""
TAKE_A_DOING: Final = frozenset("avoid begin continue keep start stop try".split())
"""Verbs followed by an `-ing` form: `keep reviewing`."""
DETERMINERS: Final = frozenset(
    "a all an another any anything both each either enough every everything her him his how if it its just"
    " less me more most my myself no nothing one only other our please some something such that the their them"
    " these this those us what whatever when where whether which your yourself".split()
)
"""Words that start an object; a noun does not precede them."""
PREPOSITIONS: Final = frozenset(
    "about above after against ahead along around as at away back before behind below between by down for"
    " forward from in inside into like of off on onto out over properly through to together under until up"
    " upon via while with within without".split()
)
"""Words that start a complement, of a verb or of a noun."""
SUBJECTS: Final = frozenset("he i she they we you".split())
"""Words after which a verb is not an imperative: `do you`."""
FINITE: Final = frozenset(
    "am appeared appears are aren't became becomes came can can't caused causes comes contained contains"
    " could couldn't covers did didn't does doesn't existed exists failed fails gets goes got had hadn't"
    " happened happens has hasn't is isn't lives looked looks made makes may means meant might must mustn't"
    " needed needs passed passes proves ran remained remains resulted results returned returns runs said says"
    " seemed seems shall should shouldn't showed shows takes took used uses was wasn't went were weren't will"
    " won't worked works would wouldn't".split()
)
"""Verbs with a subject: the words before them are not an order."""
ADVERBS: Final = frozenset(
    "absolutely actually again also always briefly carefully definitely directly either ever explicitly first"
    " immediately instead just kindly maybe now only or perhaps please pls quickly really simply still then".split()
)
"""Words that may precede an imperative."""
ONLY_OF_VERBS: Final = frozenset("always kindly only please pls".split())
"""Those of them that never precede a noun."""
OPENERS: Final = frozenset(
    "additionally ah alright also and anyway basically besides btw but cool dude either finally fine first"
    " firstly furthermore generally good great guys hello hey hi hm hmm hmmm however ideally important instead"
    " jesus just k lastly lol man nah next nice no nope note now oh ok okay omfg omg or otherwise perfect plus"
    " really reminder right rule second secondly simply so soo sooo sure thanks then therefore third thirdly"
    " thus thx todo ugh well wow wtf yeah yep yes yup".split()
)
"""Words that open a sentence without saying what kind it is."""
ASKS: Final = frozenset(
    "am any are aren't can can't could couldn't did didn't does doesn't how is isn't was wasn't were what"
    " what's which who who's whom whose why will won't would wouldn't".split()
)
"""Words that start a question, with or without a question mark."""
ASKS_SUBJECT: Final = frozenset("do had has have may shall should".split())
"""Words that start a question if a subject follows."""
NO_CONTENT_KINDS: Final = frozenset(
    "actually again ahead all an and be both carry continue do does done else finish first for go going it"
    " keep let let's lets me more need needs next no now of ok on one please proceed start stop sure that the"
    " them then these thing things this to try until us wait want we with yes you".split()
)
"""Words of a go-ahead; what has no others gives leave for something said before."""
INTRODUCES: Final = frozenset(
    "after any as at because before by during each every for from given if in instead like on once per"
    " regarding since to under unless until when whenever where wherever while with without".split()
)
"""Words that start a clause that an order may follow: `before you commit, run the tests`."""
REPORTS: Final = frozenset(
    "are benchmark benchmarks can change changes clue conflict conflicts could coverage did diff difference"
    " differences effect error errors finding findings found had has have hurry is issue issues it luck output"
    " record response result results rush state success test tests thanks that them this warning warnings was"
    " were will would yet you".split()
)
"""Words after "no" in a statement of fact: `no errors`, `no mutex protects it`."""
