"""Recognize a person's pushback, and a model's answer that concedes the point.

A person pushes back when they correct, complain, remind or repeat themselves, rather than ask for something new.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_NOT: Final = r"\s?n[o']?t"
"""The end of a negated auxiliary: `don't`, `dont`, `donot`."""
_DO_NOT: Final = r"\bdo(?:n'?t|\snot)"

_PUSHBACK: Final = (
    # Objections at the start, but not "no problem".
    r"^\W*but\b|\bi(?:'m|\sam)?\s(?:only\s|just\s)?see\w*\s(?:only|just)\b",
    r"^\W*(?:no|nope|nah|wrong|stop|wait|hm+|wtf|omf?g|dude|jesus)\b(?!\s(?:worries|problem|more\s\w+\sfrom\sm[ey]|need|idea|rush|longer)\b)",
    # "That's wrong", "this is not what I asked for", "doesn't make sense".
    r"\b(?:that|this|it|which)(?:'?s|\sis|\swas)\s(?!not\b|never\b)(?:\w+\s)?(?:wrong|incorrect|misleading)\b",
    r"\b(?:that|this|it|which)(?:'?s|\sis|\swas)\s(?:\w+\s)?not\s(?:right|correct|true|what|how|it)\b",
    r"\bthat(?:'?s|\sis)\s(?:\w+\s)?(?:horrible|terrible|nonsense|bad|bullshit|crap)\b",
    rf"\b(?:does|do|did){_NOT}\s(?:look|seem|make)\s(?:right|sense)\b",
    r"\b(?:not|isn'?t|wasn'?t)\swhat\si\b",
    # "As I said", "I already told you", "we just agreed".
    r"\b(?:as|like)\si\s(?:\w+\s)?(?:said|told|asked|mentioned|wrote)\b",
    r"\bi\s(?:already|just|clearly|explicitly|literally)\s(?:said|told|asked|mentioned|wrote|showed|explained)\b",
    r"\bi\s(?:told|asked|said)\s(?:you|to|not|that)\b",
    r"\bi\s(?:thought|assumed)\s(?:you|we)\b",
    r"\bwe\s(?:already|just)\s(?:\w+ed|did|had|said|went)\b",
    # "You forgot", "you're guessing again", "you haven't read", "you should not have".
    r"\byou(?:'re|'ve|\sare|\shave|\skeep|\sjust|\salready)*\s(?:forgot(?:ten)?|missed|ignor(?:ed|ing)|broken?|lost)\b",
    r"\byou(?:'re|'ve|\sare|\shave|\skeep|\sjust|\salready)*\s(?:removed|deleted|overwr\w+|undid|guess(?:ed|ing))\b",
    r"\byou(?:'re|'ve|\sare|\shave)?\s(?:keep\s\w+ing|hallucinat\w+|(?:still|again)\s\w+|wrong|ma(?:de|king)\s\w+\sup)\b",
    rf"\byou\s?(?:ha[sv]+n?e?|did|do|are|were){_NOT}\b",
    r"\byou\s?ha[vn]+[en]*'?t\b",
    rf"\byou\s(?:never|should(?:{_NOT})?\s(?:not\s)?have)\b",
    r"\byou(?:'re|\sare)?\s(?:\w+\s){0,3}(?:idiot|stupid|dumb|fuck\w*)\b",
    r"\b(?:are|did)\syou\sfuck\w*",
    r"^\W*fuck\w*|\b(?:wtf|omfg)\b",
    # "Why did you", "why are there".
    r"\bwhy\s(?:the\s\w+\s)?(?:do|did|are|is|were|would)(?:n'?t)?\s(?:you|we|there|it|this|that)\b(?!\s(?:slow|so))",
    # "You were supposed to", "I asked for X, not Y", "not npm, pnpm", "don't do that", "you should be using".
    rf"\byou\s(?:were|are)\ssupposed\s(?:to|not)\b|^\W*(?:but\s)?i\sasked\sfor\b|^\W*not\s\S+,|,\snot\s(?!today|now|yet|later)[\w./-]+\W*$|{_DO_NOT}\sdo\sthat\b",
    rf"\byou\sshould(?:{_NOT})?\sbe\s\w+ing\b|\byou\sneed\sto\s\w+\s(?:it|them|that|this|the\stests)\swith\b",
    r"\b(?:that|this|it)\s?wasn'?t\s(?:what|right|it)\b|\bi\s(?:did\snot|didn'?t|never)\s(?:ask|say|tell|want|mean)\b",
    r"\bwho\s(?:told|asked)\syou\b|\bwithout\sasking\b|^\W*(?:incorrect|not\squite|huh|ugh|argh|sigh|no{2,}|oh\sno|come\son|again)\b",
    r"^\W*(?:hold|hang)\son\b|^\W*are\syou\s(?:sure|serious|kidding)\b|\bare\syou\ssure\?",
    r"\b(?:in|on|at|editing|using|reading|changing)\sthe\swrong\b|\bis\soutdated\b|\byou(?:'re|\sare)\srepeating\b",
    # What was there before: "where did it go", "it worked before", "we already have that", "didn't we fix this".
    r"\bwhat\shappened\s(?:to|with)\b|\bwhere\s(?:did|have|has)\s.{1,40}\s(?:go|gone)\b|\bhow\scome\b|\bwhy\s(?:is|are)\s.{1,40}\sgone\b",
    r"\b(?:worked|working|was\sfine|was\sthere)\s(?:before|yesterday|earlier)\b|\bwe\shad\s?\?|\b(?:bring|put)\s(?:it|that|this|them|the\s.{1,40})\sback\b",
    r"\bbring\sback\b|\b(?:we|you)(?:'ve|\shave)?\salready\s(?:have|had|did|done)\b|\b(?:that|this|it)(?:'s|\sis)?\salready\s(?:exists|done|there)\b|^\W*there(?:'s|\sis)\salready\san?\b",
    rf"\b(?:did|have|has|had|is|was|were)(?:{_NOT})\s(?:we|you|this|that|it)\b|\byou\s(?:did|wrote|fixed)\s\w+\salready\b",
    r"\bthought\s(?:this|that|it)\s(?:was|is|had|works?)\b|\b(?:have|did)\syou\s(?:even|actually|forget)\b",
    r"\bdid\syou\s(?:even\s)?(?:read|run|check|test|look)\b|\buse\s(?:the|our)\s(?:existing|old)\b",
    # It does not work.
    rf"\b(?:does|did|do)(?:{_NOT}|\snot)\s(?:\w+\s)?work\b|^\W*(?:still\s)?not\sworking\b",
    r"\bstill\s(?:crash|fail|flicker|hang|leak|spin|break|happen|occur|throw|error|complain|show|say|see|get|lose|lack|miss|ignore)e?s\b",
    r"\bstill\s(?:crash|fail|flicker|hang|leak|spinn|break)ing\b",
    r"^\W*(?:the\s)?same\s(?:error|problem|issue|bug|thing|crash|failure)\b",
    # Reminders.
    r"\bremember\b(?!\sto\b)|\bremind(?:er)?\b|\brefresh\syour?\b",
    r"\bread\s(?:it|them|that|this)\sagain\b",
    # Trouble that is back.
    r"\b(?:still|again)\s(?:not|wrong|broken|fail\w*|the\ssame|see\w*|get\w*|ha(?:s|ve|ppen\w*))\b",
    rf"\b(?:still|again)\s(?:does|is|do|are|ca){_NOT}\b",
    r"\b(?:same|that|this)\s(?:\w+\s)?(?:issue|problem|bug|error|mistake|crash)\s(?:is\s|came\s)?(?:again|back|as\sbefore)\b",
    r"\b(?:happen\w*|broken|fail\w*|crash\w*|wrong|back)\sagain\b",
    r"\bgo(?:ing)?\s(?:back|in\scircles)\b|\b(?:undo|revert|roll\s?back)\b",
)
_HINTS: Final = (
    r"\b(?:is|are|was|were|do|does|did|can|could|should|would)n'?t\s(?:we|you|it|that|this|the|there|they)\b",
    r",\s(?:no|right|remember)\s?\?",
    r"\b(?:actually|instead|but|again|still|already|misleading|wrong|broken)\b",
    rf"\bshould(?:{_NOT}|\snot)?\s(?:be|have)\b",
    r"\bin\sfull\b|\?{2,}|!{2,}",
)
"""Phrases that are as frequent outside pushback: two of them count as one of the others."""
_CONCEDES: Final = (
    r"you(?:'re|\sare)\s(?:\w+\s){0,2}(?:right|correct)\b",
    r"good\s(?:point|catch|call|eye)\b|fair(?:\s(?:point|enough))?\b|right[,.!\s\u2013\u2014-]",
    r"(?:i'm\s|so\s)?sorry\b|(?:i\s)?apologi[sz]e\w*|my\s(?:bad|mistake|apologies)\b",
    r"i\s(?:forgot|missed|misread|misunderstood|overlooked|overcomplicated|jumped|was\swrong|made\sa\smistake)\b",
    r"i\sshould(?:n't|\snot)?\shave\b|that(?:'s|\sis)\smy\s(?:mistake|fault|error)\b",
)
_PUSHES_BACK: Final = re.compile("|".join(_PUSHBACK), re.IGNORECASE)
_HINTS_AT: Final = re.compile("|".join(_HINTS), re.IGNORECASE)
_ADMITS: Final = re.compile(
    rf"\W*(?:(?:ah|oh|yes|hm+|ok(?:ay)?|ha+h?)\b\W*)*(?:{'|'.join(_CONCEDES)})", re.IGNORECASE
)
_MOST_HINTS: Final = 2


@lru_cache(maxsize=1 << 12)
def pushback(prose: str) -> float:
    """Return how much a person's words read like pushback: 1 or more if they do, else down to 0."""
    plain = prose.replace("’", "'")  # noqa: RUF001  an apostrophe
    hints = sum(1 for _ in _HINTS_AT.finditer(plain))
    return sum(1 for _ in _PUSHES_BACK.finditer(plain)) + min(hints, _MOST_HINTS) / _MOST_HINTS


def concedes(answer: str) -> bool:
    """Return True if an answer begins by admitting a mistake, or that the person is right."""
    return _ADMITS.match(answer.replace("’", "'")) is not None  # noqa: RUF001  an apostrophe
