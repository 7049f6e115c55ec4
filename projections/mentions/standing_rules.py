"""Tell rules that stand until they are taken back from limits of one task and from tasks.

Three questions decide about a sentence. Does it restrict: forbid ("don't …", "no …"), limit ("only …"), prefer
("use … not …", "keep …", "I'd rather …"), ask for consent, decide ("all … must …"), or say what happens whenever
something comes again? Is it about the moment or one thing ("yet", "don't resize it")? And does it stand: does it say
so ("never", "always", "from now on", "unless I say so"), is it a decision, or is it about how the model works
(commits, tests, files, answers) rather than about what the program shows or does? A restriction that does not stand
is a limit of the task at hand; given again, it is a rule. Any other instruction is a task, as are requests in the form
of questions ("can you add a test?").
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from projections.mentions.instructions import (
    LONGEST_SENTENCE,
    QUOTES,
    clause_texts,
    is_imperative,
    is_instruction,
    is_question,
    mend,
    simplified,
    words_of,
)
from projections.mentions.prose import prose_lines, sentences
from projections.mentions.wording import ALSO_NOUNS, NEGATED, VERBS
from projections.mentions.work_words import is_about_work


class InstructionKind(StrEnum):
    """The kinds of instructions."""

    RULE = "rule"
    """It stands until it is taken back."""
    LIMIT = "limit"
    """It restricts the task at hand; given again, it is a rule."""
    TASK = "task"
    """It is done once."""


class Instruction(NamedTuple):
    """A sentence of a user's that instructs."""

    text: str
    kind: InstructionKind


_REMEMBERED: Final = 1 << 12

_EVER: Final = re.compile(
    r"(?<![-\w])(?:never(?! ?mind\b)|always(?!\W*$| and\b)"
    r"|from (?:now|here) on(?: out)?|from this point|going forward"
    r"|in (?:the )?future|at all times|under no circumstances|at no point|every ?time|each time|as a rule"
    r"|by default|in general|generally|for future reference(?=,? \w)|general rule)(?![-\w])"
    r"|\b(?:don't|do not|not|nothing|only) ever\b|\b(?:all|any) (?:the )?future\b|\bfuture sessions\b"
)
"""Words that make a rule of any instruction."""
_CONSENT: Final = re.compile(
    r"\b(?:ask|check with|confirm with|tell|consult|warn"
    r"|inform|show) (?:me|us|first|before)\b.*\b(?:before|first"
    r"|instead)\b"
    r"|\b(?:ask|check with me|confirm with me) (?:me )?(?:before|first)\b"
    r"|\bask me to (?:choose|confirm|decide|approve)\b|\b(?:stop|pause)(?: \w+)? and (?:ask|say|tell)\b"
    r"|\bwork(?:ing)? without .{0,30}\bask\w*\b|\bwait (?:for|until) (?:my"
    r"|me|i)\b|\blet me (?:review|see|check|approve|decide|confirm)\b"
    r"|(?:\b(?:don't|dont|never|no|not|nothing)\b|n't\b).*\bwithout (?:asking|my|telling|checking|permission"
    r"|approval|confirm\w*)\b"
    r"|\b(?:unless|until|when|if) i (?:say|ask|tell|told|explicitly|approve|confirm|agree)\b"
)
_STANDING: Final = re.compile(
    r"(?:^|, )i (?:\w+ly |also )?(?:don't|dont|do not) want (?!(?:it|that|the|this|to|you)\b)"
    r"|\bunless\b|\bat all\W*$|\bone [\w ]{1,20} at a time\b|\byou should (?:always )?be \w+ing\b"
    r"|(?:^|\byou(?:'re| are) )not (?:allowed|supposed|permitted) to\b"
    r"|(?:^|, )(?:please |also )*(?:use|prefer) .+ (?:instead of|rather than|over|not) "
    r"|(?:^|[, ])stop (?:using|doing)\b|\buse [^,]+, not? \w|\bi prefer (?!(?:it|that|the|this|those|these"
    r"|to)\b)|\b(?:don't|do not|dont) use (?!(?:an?|that|the|these|this|those)\b)"
)
"""Other words that make a rule of a restriction: exceptions, manners, choices."""

_ONCE: Final = re.compile(
    r"\b(?:yet|for now|right now|this time|this one|this once|for the moment|today)\b"
    r"|\bfrom (?:me|my (?:end|side))\W*$"
    r"|\bdon'?t (?:forget|stop|hesitate|bother|worry)\b"
    r"|\b(?:don't|do not|no need)\b.*(?<!from )\bnow\b(?! on)"
    r"|\b(?:prefer|rather|favou?r|like)\b.*\b(?:option \w+"
    r"|lat{1,2}er(?: more)?|former|(?:first|second|third|last"
    r"|other) \w+)\W*$"
)
"""Words that make a sentence one about the moment, unless it says "never" or "always"."""
_ONE: Final = re.compile(
    r"\b(?:this|these|that|those|them|there|itself|themselves)\b"
    r"(?! (?:repo|repository|project|codebase|package|session)\b)"
    r"|\bit\b(?! (?:when|if|short|simple|brief|concise|minimal|focused|is not)\b|'s not\b)"
    r"|\bas (?:it )?is\b"
)
"""Words for one thing, or for some that are in view."""
_EACH_TIME: Final = re.compile(r"\b(?:after|before|if|when|whenever|while) (?:you|we)\b.*")
"""A condition that comes again: "it" is another thing each time."""
_SUBORDINATE: Final = re.compile(
    r"\s+(?:so that|because|that|which|who|since|as it(?! is\b)|otherwise|to (?:avoid|prevent))\b[^,;]*"
)
_REPORTED: Final = re.compile(
    r"\b(?:it|this|that|they|which|who|and|i|we)(?:'s| is| are| was| were| has| had)? (?:never"
    r"|always|generally) (?:\w+(?:[^s]s|ed)|seen|been|had|was)\b"
    r"|\b(?:it|this|that) (?:should|must) never \w+"
)
"""Reports of something that never happened, or should not have."""
_OWN: Final = re.compile(r"\bi(?:'ll| will|'m going to| am going to)\b")
"""Plans of the person, for themselves."""
_PROPOSES: Final = re.compile(r"(?:let's|lets|let us)\b")
_POLITE: Final = re.compile(
    r"(?:(?:(?:you|we) (?:should|must|shall|have to|need to)|please|pls|kindly|and|also|just|but|so|you|we|they) )+"
)
_FORBIDS: Final = re.compile(
    rf"(?!(?:it|this|that) should never\b){NEGATED} (?!\w+ed\b)\w"
    r"|(?:stop|quit|avoid) (?:\w+ly )?(?!it\b)\w+ing\b|avoid \w|refrain from|no more\b"
    r"|(?:let's )?(?:ensure|make sure) (?:there (?:is|are) )?no \w"
    r"|nothing (?:in|from|under|that|may|must)\b|do nothing\b"
    r"|(?:keep (?:your )?)?hands off\b|(?:stay|keep) (?:away|out|clear|off) |steer clear of\b"
    r"|leave .{1,40} (?:alone|untouched|as (?:is|it is|they are))\b"
    r"|no (?!(?:longer|idea|problem|need|doubt|worries|one\b(?!-)"
    r"|matter|way|luck|thanks|but|dont|don't|find|i|its?"
    r"|let's|lets|let|my|our|please|she|that|the|their|these|they|this|those|we|you|your)\b)"
)
_LEAVES_OUT: Final = re.compile(
    r"(?:stop|quit|avoid) \w+ing\b|(?:keep (?:your )?)?hands off\b|steer clear of\b"
    r"|(?:stay|keep) (?:away from|out of|clear of|off) |(?:[a-z]+ ){1,2}[a-z]{3,}s only\W*$"
    r"|let's (?:all |also |just )*(?:not|keep|maintain|preserve|(?:stick|stay) (?:to|with)|avoid) \w"
    r"|let's (?:ensure|make sure) (?:there (?:is|are) )?no \w"
    r"|(?:if|when(?:ever)?) [^,]{1,60}? (?:ask|consult|tell|check with) me (?:first|before)\b"
    r"|only one (?:\w+ )?\w+\W*$|always (?!\w+(?:ed|s|ing)\b)[a-z]+ \S"
    r"|let me (?:review|see|check|approve|decide|confirm|look at) (?:all|any|each|every)\b"
)
"""Restrictions without the form of an instruction."""
_FORBIDS_LATER: Final = re.compile(
    r".*?,? (?:but|and) (?:please )?(?:stop|quit) (?!it\b)\w+ing\b"
    rf"|(?P<first>.*?),? but (?:please )?{NEGATED} \w"
)
"""A prohibition in the middle of a clause: "it is good, but don't crowd it"."""
_WANTS: Final = re.compile(
    r"(?:i|we) (?:really |also |\w+ly )?(?:don't|do not|dont|wouldn't|would not) (?:want|like)\b"
    r"(?:(?! (?:to|it|that|the|this)\b)|(?= to see any))"
    r"|i (?:really )?hate\b"
    r"|(?:i|we)(?:'d| would)? (?:really |also )?(?:want|need"
    r"|like|expect) (?:(?:every|each)\b|\S.{0,60}? (?:to not"
    r"|to never|not to) )"
    r"|(?:i|we)(?:'d| would)?(?: really| also| always| generally)? (?:prefer|rather|like it (?:when|if))\b"
    r"|(?:i|we)(?: really| also| always| generally)? like (?!to\b)\w+ \w+ \w+\b"
    r"|(?:i|we)(?:'d| would)? only (?:ever )?(?:want|like|need)\b"
    r"|prefer\b|favou?r\b|my preference\b|i expect you\b"
)
_ONLY: Final = re.compile(
    r"(?:\w+ )?only (?:ever )?(?!(?:\d+|display|list|log|once"
    r"|one\b(?!.* at a time)|print|render|return|show|that|the"
    r"|then|this)\b)(?!\w+ (?:that|the|these|this|those)\b)"
    r"|.*\bonly (?:when|if|after|with|on|in|for|at|under|where|what|as)\b|.*\bonly\W*$"
)
_HOLDS: Final = re.compile(
    r"(?:stick (?:to|with)|adhere to|follow(?! \S*[./@])|respect|honou?r|obey|comply with)\b"
    r"|use (?:only |the )?(?:[a-z]+ ){1,3}?(?:for|in|as|when"
    r"|whenever|wherever|throughout|everywhere) (?:all |any "
    r"|each |every |new |our )?(?!(?:this|that|these|those|the|my|now|it|layer|phase|step)\b)[a-z]"
    r"|use (?:[a-z]+ ){0,3}[a-z]{2,}s\W*$|use (?:tabs|spaces"
    r"|british|american|english|single quotes|double quotes)\b"
    r"|use .+ (?:instead of|rather than|not|over|everywhere|throughout) "
    r"|(?:keep|maintain|preserve|retain) (?!(?:going|on|it up|at it)\b)(?!\w+ing\b)"
    r"(?!the (?!(?:api|code|current|existing|goals?|old|public|tests?)\b))\S"
    r"|be (?!(?:sure|able|done|there|back)\b)(?:more |less |very |as )?\w+"
    r"|(?:answer|reply|respond|talk|speak|write|comment)(?: \w+){0,4} in (?:english|german|french"
    r"|spanish|\w+ (?:mood|case|tense|voice))\b"
    r"|make (?:sure )?(?:\w+ )?(?:surgical|small|minimal|atomic|incremental|focused|separate) \w+"
    r"|try (?:to (?:keep|reuse|use|avoid|stay|be|write|not)|not to)\b"
    r"|remember(?: that| to (?:\w+ )*?(?:with|after|before|when|each|every)\b)|keep in mind\b"
    r"|(?:make|be) sure (?:(?:that )?(?:you|we)(?:'re| are| do)? (?:not|never|don't)|not to)\b"
    r"|treat .+ as \w"
    r"|(?:commit|test|push|save) (?:often|early|regularly|frequently|separately|first)\b"
    r"|(?:write|add|design|implement) (?:\S+ ){0,4}(?:first|before (?:the )?code)\b"
    r"|let's (?:all |also |just )*(?:not|keep|maintain|preserve|(?:stick|stay) (?:to|with)|avoid) \w"
)
_DECIDES: Final = re.compile(
    r"(?:all|every|everything|anything|each|nothing|none of) (?:\S+ ){0,9}?"
    r"(?:must|should|shall|ha(?:s|ve) to|needs? to)\b"
    r"|(?:just )?do nothing\b"
    r"|.*(?<!\bit )(?<!\bthat )(?<!\bthey )(?<!\bthis )\b(?:must|should|shall|ha(?:s|ve) to|needs? to|ought to)"
    r"(?: \w+ly| always| still| just)? (?:do nothing|stay|remain|keep|not|never)\b"
    r"|.*(?<!\bit )(?<!\bthat )(?<!\bthey )(?<!\bthis )\b(?:mustn't|shouldn't|shall not)\b"
    r"|.*\b(?:is|are) (?:not allowed|forbidden|prohibited|mandatory|off[ -]limits|required)\b"
    r"|.*\b(?:is|are|it's|that's)(?: not|n't) (?:\w+ )?(?:ok|okay|allowed|acceptable|permitted|feasible)\b"
    r"|.*\byou(?:'re| are) not (?:allowed|supposed|permitted) to\b|you should (?:always )?be \w+ing\b"
    r"|(?:i think |imo |imho )?(?!(?:it|this|that)\b).{1,40} (?:is"
    r"|are|would be) (?:just |really |way )?(?:too? much"
    r"|overkill|unnecessary|not needed|pointless|useless)\b"
)
"""Statements of what must stay or must not be: decisions for later work to keep."""
_HOLDS_FOR_ALL: Final = re.compile(
    r"(?!(?:does|is|this|was)\b)(?:all|every|each|any|anything"
    r"|everything|no(?! \w+ly\b)|none of|nothing|new|public|private|only"
    r"|(?:\w+ )?\w{3,}s) (?:\S+ ){0,6}?"
    r"(?:must|should|shall|ha(?:s|ve) to|needs?|gets? (?:its"
    r"|their|an?|one)|go(?:es)? (?:in|into|through|to|under)"
    r"|(?:starts?|begins?|ends?) with|belongs? (?:in|to|under)|lives? (?:in|under)|stays?"
    r"|are (?:in|named|written|kept|sorted|lowercase|off)|may|gets)\b(?!.*\b(?:now|already|again|yet)\b)"
    r"|(?:the |your )?(?:code|development|documentation|naming"
    r"|output|process|style|workflow) (?:should|must|has to) be\b"
    r"|(?:the )?(?:\w+ )?\w+ (?:stays|lives|belongs) (?:in|out of|under|with|next to|beside)\b"
)
"""Statements of what is so for all of a kind, or where something belongs."""
_GENERIC: Final = re.compile(
    r"\b(?:after|before|on|per|with) (?:each|every|any|anything|everything|whatever)\b"
    r"|\b(?:for|in|to) (?:any|anything|everything|every|whatever|each (?:change|commit|new|pr|release|time))\b"
    r"|\bwhenever\b|\b(?:before|when|while|^if) (?:you|something|anything|a|an|any|one)\b(?! were\b)"
    r"(?! (?:are|'re|were|is) (?:done|finished|ready|through|happy|sure))"
    r"|\b(?:before|after|when|while) (?:committing|pushing"
    r"|merging|releasing|deploying|installing|editing|changing"
    r"|adding|deleting|removing|refactoring|writing|creating|making)\b(?! (?:the|this|that|it|these|those)\b)"
    r"|\bafter you (?:change|edit|make|modify)\b"
)
"""Conditions that come again."""
_CONVENTION: Final = re.compile(
    r"(?:in this (?:repo|project|codebase|repository|package) |here )?we (?:all )?(?:"
    r"(?:always|only|never|usually|don't|do not)(?: ever)? (?P<verb>[a-z]+)\b"
    r"|(?P<bare>[a-z]+) .*(?:\bhere\b|\bin (?:this|our) (?:repo|project|codebase|repository|code"
    r"|package)|, not \w|\binstead of\b|\bbefore \w+ing|\bfor (?:all|every)))"
    r"|in this (?:repo|project|codebase|repository|package),? we \w"
)
_NO_HABIT: Final = frozenset("care get have know mean need see talk think understand want".split())
_SCOPED: Final = re.compile(
    r"(?:for|in|on) (?:all |any |each |every |new |our "
    r"|the )?\w+s, ?(?:please )?(?:always |only )?(?:follow|keep"
    r"|prefer|put|use|write)\b"
    r"|(?:for|in|on|when) .{1,60}? (?<!i )(?<!we )prefer (?:to |the |\S+)"
)
"""Preferences for cases of a kind: "for commits, use the imperative mood"."""
_ASKS: Final = re.compile(
    r"(?:(?:can|could|would|will) (?:you|we)|would you mind|i'd like you to|i want you to)"
    r"(?: (?:please|also|now|just|maybe|perhaps|then|again"
    r"|quickly|still))* (?:make it so (?:that )?(?:we |you )?)?"
    r"(?P<rest>.+)"
)

_INSERTED: Final = re.compile(
    r"\s*(?:Base directory for this skill:|# AGENTS\.md instructions for|Caveat: The messages below were"
    r"|Implement the following plan:|Stop hook feedback:|This session is being continued from a previous"
    r"|<(?:skill|user_instructions|INSTRUCTIONS)>)"
)
"""The beginning of a message that no person wrote."""
_REPORT: Final = re.compile(
    r"^#{1,4} [^\n]*\b(?:reviews?|findings?|nitpicks?|real bugs|code quality)\b", re.MULTILINE | re.IGNORECASE
)
"""A heading of a review that the user pasted: its sentences are about code and set no rules."""
_INTRODUCES: Final = re.compile(r":[ \t]*$", re.MULTILINE)
_TASKS: Final = 2
"""Tasks in a sentence around a restriction, which is then their limit."""
_LONGEST_TALK: Final = 2_000
"""Characters of a message; a longer one is a specification or pasted."""


def find_instructions(text: str) -> list[Instruction]:
    """Return the distinct instructions in a user's message, in order.

    Text that is not the user's own prose is skipped, and so are messages that a harness, a skill or a hook
    wrote in the user's name, and pasted reviews, from their introduction on.
    """
    if _INSERTED.match(text):
        return []
    if report := _REPORT.search(text):
        introduction = text[: report.start()]
        colon = _INTRODUCES.search(introduction)
        text = introduction[: colon.end()] if colon else introduction
    is_talk = len(text) <= _LONGEST_TALK
    kinds = {each: kind_of_sentence(each, is_talk=is_talk) for each in sentences(prose_lines(text))}
    return [Instruction(each, kind) for each, kind in kinds.items() if kind is not None]


@lru_cache(maxsize=_REMEMBERED)
def kind_of_sentence(sentence: str, *, is_talk: bool = True) -> InstructionKind | None:
    """Return the kind of a user's sentence, None if it instructs nothing.

    If it `is_talk`, it is from a short message; those of a specification are rules only if they say so.
    """
    if len(sentence) > LONGEST_SENTENCE or sentence.startswith(QUOTES):
        return None
    plain = simplified(sentence)
    if is_question(plain):
        return _kind_of_question(plain)
    clauses = clause_texts(plain)
    instructs = is_instruction(sentence)
    if _is_restriction(plain, clauses, instructs=instructs):
        return InstructionKind.RULE if _stands(plain, clauses, is_talk=is_talk) else InstructionKind.LIMIT
    return InstructionKind.TASK if instructs else None


def core_of(rule: str) -> str:
    """Return the clauses that make a sentence a rule, in lower case; all of it if none does."""
    plain = mend(rule.casefold().replace("’", "'"))  # noqa: RUF001  an apostrophe
    clauses = [_SUBORDINATE.sub("", each) for each in clause_texts(plain)]
    found = [each for each in clauses if _restricts(each) or _EVER.search(each)]
    return ", ".join(found) or plain


def _kind_of_question(plain: str) -> InstructionKind | None:
    """Return the kind of a request in the form of a question, or of the words before a question."""
    before, _, last = plain.rpartition(", ")
    if before and is_question(last) and kind_of_sentence(before) is InstructionKind.RULE:
        return InstructionKind.RULE
    asked = _ASKS.match(clause_texts(plain)[0]) if clause_texts(plain) else None
    if not asked or not is_imperative(words_of(asked["rest"])):
        return None
    clauses = clause_texts(asked["rest"].rstrip(" ?"))
    is_rule = _EVER.search(plain) or (clauses and _HOLDS.match(clauses[0]) and is_about_work(clauses[0]))
    return InstructionKind.RULE if is_rule else InstructionKind.TASK


def _is_restriction(plain: str, clauses: list[str], *, instructs: bool) -> bool:
    """Return True if a sentence restricts; `instructs`: it is an instruction."""
    main = _main(plain)
    if _EVER.search(main) and instructs:
        return not _OWN.search(main)
    if _ONCE.search(plain) or (
        _PROPOSES.match(plain) and not (_HOLDS.match(plain) or _LEAVES_OUT.match(plain))
    ):
        return False
    if instructs and _CONSENT.search(plain):
        return True
    if _SCOPED.match(plain):
        return True
    return any(_restricts(_SUBORDINATE.sub("", each), instructs=instructs) for each in clauses)


def _main(plain: str) -> str:
    """Return a sentence without explanations and reports."""
    return _REPORTED.sub("", _SUBORDINATE.sub("", plain))


def _restricts(clause: str, *, instructs: bool = True) -> bool:
    """Return True if a clause forbids, limits, prefers, decides or generalizes."""
    clause = _REPORTED.sub("", clause)
    if any(each.match(clause) for each in (_DECIDES, _HOLDS_FOR_ALL, _WANTS, _SCOPED)) or _forbids_later(
        clause
    ):
        return True
    if habit := _CONVENTION.match(clause):
        verb = habit["verb"] or habit["bare"]
        if verb is None or ((verb in VERBS or verb in ALSO_NOUNS) and verb not in _NO_HABIT):
            return True
    clause = _polished(clause)
    if not instructs:
        return _LEAVES_OUT.match(clause) is not None
    return _GENERIC.search(clause) is not None or any(
        each.match(clause) for each in (_FORBIDS, _HOLDS, _ONLY)
    )


def _polished(clause: str) -> str:
    return _POLITE.sub("", clause, count=1) if _POLITE.match(clause) else clause


def _forbids_later(clause: str) -> bool:
    """Return True if a clause forbids something after a statement, rather than within a task."""
    found = _FORBIDS_LATER.match(clause)
    return found is not None and not (found["first"] and is_imperative(words_of(_polished(found["first"]))))


def _stands(plain: str, clauses: list[str], *, is_talk: bool) -> bool:
    """Return True if a restriction says that it stands, or is about how the model works."""
    main = _main(plain)
    if _EVER.search(main) or _CONSENT.search(plain) or _STANDING.search(main):
        return True
    if not is_talk:
        return False
    mains = [_SUBORDINATE.sub("", each) for each in clauses]
    ruling = [each for each in mains if _restricts(each)] or mains
    tasks = [each for each in mains if each not in ruling and is_imperative(words_of(_polished(each)))]
    if len(tasks) >= _TASKS and not any(map(_GENERIC.search, ruling)):
        return False
    return any(
        _CONVENTION.match(each)
        or (is_about_work(each) and not _ONE.search(_EACH_TIME.sub("", each)))
        or (_DECIDES.match(each) and not _ONE.search(each))
        for each in ruling
    )
