"""Tell rules that stand until they are taken back from tasks that are done once.

A rule says what to do whenever it applies: it forbids ("don't touch the tests"), limits ("only change src/"),
generalizes ("every function needs a test", "before you commit, run the linter"), prefers ("use tabs", "keep it
short", "I'd rather have …"), requires consent ("ask before …") or states a convention ("we use pnpm here").
Any other instruction is a task, as are requests in the form of questions ("can you add a test?").
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from projections.mentions.instructions import (
    ALSO_NOUNS,
    LONGEST_SENTENCE,
    QUOTES,
    VERBS,
    clause_texts,
    is_imperative,
    is_instruction,
    is_question,
    mend,
    simplified,
    words_of,
)
from projections.mentions.prose import prose_lines, sentences


class InstructionKind(StrEnum):
    """The kinds of instructions."""

    RULE = "rule"
    """It stands until it is taken back."""
    TASK = "task"
    """It is done once."""


class Instruction(NamedTuple):
    """A sentence of a user's that instructs."""

    text: str
    kind: InstructionKind


_REMEMBERED: Final = 1 << 12

_NEGATED: Final = (
    r"(?:don't|dont|do not|never|must not|mustn't|should not|shouldn't|may not|can not|cannot|can't)"
)
_ONCE: Final = re.compile(
    r"\b(?:yet|for now|right now|this time|this one|this once|for the moment|today)\b"
    r"|\bdon't (?:forget|stop|hesitate|bother|worry)\b"
    r"|\b(?:don't|do not|no need)\b.*(?<!from )\bnow\b(?! on)"
    r"|\b(?:prefer|rather|favou?r)\b.*\b(?:option \w+|latter|former|(?:first|second|third|last|other) \w+)$"
    r"|^(?:no|nope|nah|yes|yeah|yep)\b,? (?:the|this|that|it)\b.* (?:stay|remain)s? as\b"
)
"""A sentence with one of these is about the present moment, unless it says "never" or "always"."""
_EVER: Final = re.compile(
    r"\b(?:never|always|from (?:now|here) on(?: out)?|from this point|going forward"
    r"|in (?:the )?future|at all times"
    r"|under no circumstances|at no point|every ?time|each time|as a rule|by default|in general"
    r"|generally)\b"
    r"|\b(?:don't|do not|not|nothing|only) ever\b"
)
"""Words that make a rule of an instruction."""
_FORBIDS: Final = re.compile(
    rf"(?!(?:it|this|that) should never\b)(?:(?:please|kindly|and|also|but|so|you|we"
    rf"|they) )*{_NEGATED} (?!\w+ed\b)\w"
    r"|(?:stop|quit|avoid) (?:\w+ly )?\w+ing\b|avoid |refrain from|no more\b|nothing (?:in|from"
    r"|under|that|may|must)\b"
    r"|(?:keep (?:your )?)?hands off\b|(?:stay|keep) (?:away|out|clear|off) |steer clear of\b"
    r"|(?:just )?do nothing\b|leave .{1,40} (?:alone|untouched|as (?:is|it is|they are))\b"
)
_WANTS_NOT: Final = re.compile(
    r"\b(?:i|we) (?:really |also )?(?:don't|do not|dont|wouldn't|would not) (?:want|like)\b"
    r"|\bi (?:really )?hate\b"
)
_NO: Final = re.compile(
    r"(?:and |but |so )?no (?!(?:longer|idea|problem|need|doubt|worries|one|matter|way|luck|thanks)\b)"
)
_PREFERS: Final = re.compile(
    r"(?:i|we)(?:'d| would)?(?: really| also| always| generally)? (?:prefer|rather"
    r"|like (?:it (?:when|if)|\w+ \w+ \w+))\b"
    r"|(?:i|we)(?:'d| would)? only (?:ever )?(?:want|like|need)\b|prefer\b|favou?r\b|my preference\b"
    r"|i expect you\b"
)
_ONLY: Final = re.compile(
    r"(?:\w+ )?only (?:ever )?(?!(?:the|this|that|one|once|then)\b)|.*\bonly (?:when|if|after|with"
    r"|on|in|for|at|under|where|what|as)\b"
    r"|.*\bonly$"
)
_CONSENT: Final = re.compile(
    r"\b(?:ask|check with|confirm with|tell|consult|warn|inform|show) (?:me|us|first"
    r"|before)\b.*\b(?:before|first|instead)\b"
    r"|\b(?:ask|check with me|confirm with me) (?:me )?(?:before|first)\b"
    r"|\bwait (?:for|until) (?:my|me|i)\b|\blet me (?:review|see|check|approve|decide|confirm)\b"
    r"|\bwithout (?:asking|my|telling|checking|permission|approval|confirm\w*)\b"
    r"|\b(?:unless|until|when|if) i (?:say|ask|tell|told|explicitly|approve|confirm|agree)\b"
)
_GENERIC: Final = re.compile(
    r"\b(?:before|after|with|at|on|for|per|in|to) (?:each|every|any)\b|\bwhenever\b"
    r"|\b(?:before|when|while|if) (?:you|we|something|anything|a|an|any|one)\b(?! were\b)(?! (?:are|'re|were"
    r"|is) (?:done|finished|ready|through|happy|sure))"
    r"|\b(?:before|after|when|while) \w+ing (?!(?:the|this|that|it|these|those)\b)"
    r"|\bif (?:tests?|the tests?|builds?|the build|checks?) fails?\b"
)
_INSPECTS: Final = re.compile(
    r"(?:(?:i think )?we should |(?:and |please |also )*)(?:ask|check|explain|find|figure"
    r"|investigate|look|list|propose|read|see|show|suggest"
    r"|tell|verify)\b"
)
"""The beginning of a clause that looks at things, each of them once."""
_DONE: Final = re.compile(
    r"\b(?:when|once|after|if) (?:you|we) (?:are|'re|have|did|can|think|need|find)\b"
    r"|\bwhen (?:you're|done)\b"
)
_HOLDS: Final = re.compile(
    r"(?:always )?(?:use|stick (?:to|with)|adhere to|follow|respect|honou?r|obey)\b(?! (?:it|this"
    r"|that|these|those|the|my|your|his|her|their|another)\b)"
    r"|(?:stick (?:to|with)|adhere to|respect|obey|comply with)\b|use .+ (?:instead of|rather than"
    r"|not|over|everywhere|throughout) "
    r"|(?:keep|maintain|preserve|retain) (?!(?:going|on|it up|at it)\b)(?!\w+ing\b)\S"
    r"|be (?!(?:sure|able|done|there|back)\b)(?:more |less |very |as )?\w+"
    r"|(?:answer|reply|respond|talk|speak|write|comment)(?: \w+){0,4} in (?:english|german|french"
    r"|spanish|\w+ (?:mood|case|tense|voice))\b"
    r"|make (?:sure )?(?:\w+ )?(?:surgical|small|minimal|atomic|incremental|focused|separate) \w+"
    r"|try to (?:keep|reuse|use|avoid|stay|be|write|not)\b|try not to\b|remember(?: that"
    r"| to (?:\w+ )*(?:with|after|before|when))?\b(?! (?:the|this)\b)"
    r"|treat (?!(?:it|this|that|these|those)\b).+ as \w"
    r"|keep in mind\b|(?:commit|test|push|save) (?:often|early|regularly|frequently|separately|first)\b"
    r"|(?:write|add) (?:\w+ ){0,2}(?:first|before (?:the )?code)\b"
    r"|don't (?:be|do)\b"
)
_STAYS: Final = re.compile(
    r"\b(?:must|should|shall|has to|have to|needs? to|ought to)"
    r"(?: \w+ly| always| still| just)? (?:do nothing|stay"
    r"|remain|keep|not|never)\b"
    r"|\b(?:(?<!it )(?<!this )(?<!that )(?:mustn't|shouldn't|shall not)|you may not)\b"
    r"|\b(?:is|are) (?:not allowed|forbidden|prohibited|mandatory|off[ -]limits|required)\b"
    r"|\b(?:is|are|it's|that's)(?: not|n't) (?:\w+ )?(?:ok|okay|allowed|acceptable|permitted|feasible)\b"
    r"|\byou(?:'re| are) not (?:allowed|supposed|permitted) to\b"
)
_HAS_TO: Final = re.compile(
    r"(?P<subject>.{1,80}?) (?:must|should|shall|has to|have to|needs? to|needs?|may|ought to|(?:is"
    r"|are) to)\b"
)
_ADDRESSED: Final = re.compile(r"\b(?:you|we)\b|^(?:i|please)$")
_PLURAL: Final = re.compile(
    r"(?:all|every|each|any|no|nothing|everything|both|new|only)\b|(?!(?:the|this|that|these|those"
    r"|it|they|he|she|we|i|you|there|tests?)\b)"
    r"(?:\w+ ){0,2}?\w{3,}s$"
)
"""A subject that stands for more than one thing: `comments`, `every function`."""
_CONVENTION: Final = re.compile(
    r"(?:in this (?:repo|project|codebase|repository|package) |here )?we (?:all )?(?:"
    r"(?:always|only|never|usually|don't|do not)(?: ever)? (?P<verb>[a-z]+)\b"
    r"|(?P<bare>[a-z]+) .*(?:\bhere\b|\bin (?:this|our) (?:repo|project|codebase|repository|code"
    r"|package)|, not \w|\binstead of\b|\bbefore \w+ing|\bfor (?:all|every)))"
    r"|in this (?:repo|project|codebase|repository|package),? we \w"
)
_NO_HABIT: Final = frozenset(
    "are can could did do get got had have know mean need see seem should talk think understand want were will".split()
)
_STATES: Final = re.compile(
    r"(?:(?:all|every|each|any|no|none of)\b.{1,60}?|(?:new |public )?\w+ \w+s|(?:new |public "
    r"|private |log |test |error )?(?!tests?\b|errors?\b)\w+(?: \w+)?) "
    r"(?:needs?|gets? (?:its|their|a|an)|go(?:es)? (?:in|into|through|to|under)|starts? with"
    r"|begins? with|ends? with|belongs? (?:in|to|under)"
    r"|lives? (?:in|under)|stays?|are (?:in|named|written|kept|sorted|lowercase|off)|is written"
    r"|use)\b(?!.*\b(?:now|already|again|yet|still)\b)"
)
_GENERAL_SUBJECT: Final = re.compile(
    r"(?:all|every|each|any|no|none|new|public|private)\b|(?!this|does|is|was)\w+s\b|\w+ \w+s\b"
)
_NO_SUBJECT: Final = frozenset(
    "it this that these those they he she i you we there the tests test what which who".split()
)
_REJECTS: Final = re.compile(
    r"(?:i think |imo |imho )(?!(?:it|this|that)\b).{1,40} (?:is|are|would be) (?:just |really |way )?"
    r"(?:too much|to much|overkill|unnecessary|not needed|pointless|useless)\b"
)
_LIMITS: Final = re.compile(r"(?:no|not) (?:more|less|fewer) than\b|at most\b")
_ASKS: Final = re.compile(
    r"(?:(?:can|could|would|will) (?:you|we)|would you mind|i'd like you to|i want you to)"
    r"(?: (?:please|also|now|just|maybe|perhaps|then|again|quickly"
    r"|still))* (?:make it so (?:that )?(?:we |you )?)?(?P<rest>.+)"
)
_SUBORDINATE: Final = re.compile(r"\s+(?:so that|because|that|which|who|since|as it|otherwise)\b.*")


_REPORTED: Final = re.compile(
    r"\b(?:it|this|that|they|which|who|and|i|we)(?:'s| is| are| was| were| has| had)? (?:never"
    r"|always|generally) (?:\w+(?:[^s]s|ed)|seen|been|had|was)\b"
    r"|\b(?:it|this|that) (?:should|must) never \w+"
)
"""Reports of something that never happened, or should not have."""
_POLITE: Final = re.compile(r"(?:(?:please|pls|kindly|and|also|just) )+")
_AGREES: Final = re.compile(
    r"let(?:'s| us) (?:all |also |just |please )*(?:not (?!\w+ (?:it|this|that|yet)$)\w"
    r"|(?:keep|maintain|preserve) (?!(?:going|on|it|this|that)\b)(?!\w+ing\b)\S|(?:stick|stay) (?:to|with) \w"
    r"|avoid |use .+ (?:instead of|rather than|everywhere|throughout)\b)"
)
"""Suggestions that stand: "let's keep the API stable", "let's not add dependencies"."""
_WANTS_EACH: Final = re.compile(
    r"(?:i|we)(?:'d| would)? (?:also |really )?(?:want|need|like|expect) (?:every|each)\b"
)
_PLACES: Final = re.compile(
    r"(?:the )?(?:\w+ )?\w+ (?:stays?|lives?|belongs?) (?:in|out of|under|with|next to|beside)\b"
    r"(?!.*\b(?:after|when|even|forever|until|now|already|again|yet|still|why)\b)"
)
"""Decisions where a thing belongs: "the config stays in pyproject.toml"."""
_LONGEST_PLACING: Final = 9
"""Words of a decision where a thing belongs; longer statements tend to report."""


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


def find_instructions(text: str) -> list[Instruction]:
    """Return the distinct instructions in a user's message, in order.

    Text that is not the user's own prose is skipped, as `instructions_in` skips it, and so are messages that
    a harness, a skill or a hook wrote in the user's name, and pasted reviews, from their introduction on.
    """
    if _INSERTED.match(text):
        return []
    if report := _REPORT.search(text):
        introduction = text[: report.start()]
        colon = _INTRODUCES.search(introduction)
        text = introduction[: colon.end()] if colon else introduction
    found = dict.fromkeys(sentences(prose_lines(text)))
    return [Instruction(each, kind) for each in found if (kind := kind_of(each)) is not None]


@lru_cache(maxsize=_REMEMBERED)
def kind_of(sentence: str) -> InstructionKind | None:
    """Return the kind of a user's sentence, None if it instructs nothing."""
    if len(sentence) > LONGEST_SENTENCE or sentence.startswith(QUOTES):
        return None
    plain = simplified(sentence)
    if is_question(plain):
        return _kind_of_question(plain)
    clauses = clause_texts(plain)
    if _is_limit_of_task(plain, clauses):
        return InstructionKind.TASK
    is_rule = any(map(_states_rule, clauses)) and not _asks_once(plain)
    if is_instruction(sentence):
        return InstructionKind.RULE if is_rule or _is_ruled(plain, clauses) else InstructionKind.TASK
    return InstructionKind.RULE if is_rule else None


def core_of(rule: str) -> str:
    """Return the clauses of a rule that make it one, in lower case; all of it if none does by itself."""
    plain = mend(rule.casefold().replace("’", "'"))  # noqa: RUF001  an apostrophe
    clauses = [_SUBORDINATE.sub("", each) for each in clause_texts(plain)]
    found = [each for each in clauses if _is_ruling(each) or _states_rule(each) or _EVER.search(each)]
    return ", ".join(found) or plain


def _kind_of_question(plain: str) -> InstructionKind | None:
    """Return the kind of a request in the form of a question, or of what is said before a question."""
    before, _, last = plain.rpartition(", ")
    if before and is_question(last) and kind_of(before) is InstructionKind.RULE:
        return InstructionKind.RULE
    asked = _ASKS.match(clause_texts(plain)[0]) if clause_texts(plain) else None
    if not asked or not is_imperative(words_of(asked["rest"])):
        return None
    clauses = clause_texts(asked["rest"].rstrip(" ?"))
    is_rule = bool(clauses) and (_HOLDS.match(clauses[0]) is not None or _EVER.search(plain) is not None)
    return InstructionKind.RULE if is_rule else InstructionKind.TASK


def _asks_once(plain: str) -> bool:
    return _ONCE.search(plain) is not None and not _EVER.search(plain)


def _is_limit_of_task(plain: str, clauses: list[str]) -> bool:
    """Return True if what a sentence forbids stands between two tasks, and so holds for them alone."""
    if len(clauses) < _LEAST_ENCLOSING or _EVER.search(plain):
        return False
    rules = [_is_ruling(each) or _states_rule(each) for each in clauses]
    tasks = [is_imperative(words_of(_POLITE.sub("", each, count=1))) for each in clauses]
    inner = range(1, len(clauses) - 1)
    return (
        not rules[0]
        and not rules[-1]
        and tasks[-1]
        and any(rules[place] and _FORBIDS.match(clauses[place]) is not None for place in inner)
        and all(not rules[place] or _FORBIDS.match(clauses[place]) is not None for place in inner)
    )


def _is_ruled(plain: str, clauses: list[str]) -> bool:
    """Return True if a sentence that instructs is a rule."""
    if _asks_once(plain):
        return False
    main = _REPORTED.sub("", _SUBORDINATE.sub("", plain))
    return (
        _EVER.search(main) is not None
        or _CONSENT.search(plain) is not None
        or (
            any(_GENERIC.search(each) is not None for each in clauses if not _is_requirement(each))
            and not _DONE.search(plain)
            and not any(map(_INSPECTS.match, clauses))
        )
        or any(map(_is_ruling, (_SUBORDINATE.sub("", each) for each in clauses)))
    )


def _is_ruling(clause: str) -> bool:
    """Return True if a clause of an instruction forbids, limits or prefers."""
    if polite := _POLITE.match(clause):
        clause = clause[polite.end() :]
    return (
        any(each.match(clause) is not None for each in (_FORBIDS, _NO, _PREFERS, _ONLY, _HOLDS, _LIMITS))
        or _STAYS.search(_REPORTED.sub("", clause)) is not None
        or _WANTS_NOT.search(clause) is not None
        or _is_general(clause)
    )


def _is_requirement(clause: str) -> bool:
    """Return True if a clause says what one thing, other than the model, has to be or do."""
    found = _HAS_TO.match(clause)
    return (
        found is not None and not _PLURAL.match(found["subject"]) and not _ADDRESSED.search(found["subject"])
    )


def _is_general(clause: str) -> bool:
    """Return True if a clause says what must be of more than one thing."""
    found = _HAS_TO.match(clause)
    return found is not None and _PLURAL.match(found["subject"]) is not None


def _states_rule(clause: str) -> bool:
    """Return True if a clause is a rule though it has no form of an instruction."""
    words = words_of(clause)
    if not words:
        return False
    if habit := _CONVENTION.match(clause):
        verb = habit["verb"] or habit["bare"]
        if (
            verb is None
            or verb == "do"
            or ((verb in VERBS or verb in ALSO_NOUNS or verb == "do") and verb not in _NO_HABIT)
        ):
            return True
    if (
        _STAYS.search(_REPORTED.sub("", clause))
        or _AGREES.match(clause)
        or _WANTS_EACH.match(clause)
        or _LIMITS.match(clause)
        or _REJECTS.match(clause)
        or _FORBIDS_OTHERS.match(clause)
    ):
        return True
    if _PLACES.match(clause) and words[0] not in _NO_SUBJECT - _DEFINITE and len(words) <= _LONGEST_PLACING:
        return True
    return (
        words[0] not in _NO_SUBJECT
        and len(words) <= _LONGEST_STATEMENT
        and _GENERAL_SUBJECT.match(clause) is not None
        and _STATES.match(clause) is not None
    )


_FORBIDS_OTHERS: Final = re.compile(
    r"(?:nothing|no \w+|none of .{1,40}) (?:\S+ ){0,4}(?:may|must|should|can|is to|are to) "
    r"|(?:just )?do nothing\b"
    r"|(?:please )?(?:stop|quit|avoid) \w+ing\b"
    r"|(?:keep (?:your )?)?hands off\b|(?:please )?(?:stay|keep) (?:away from|out of|clear of|off) |steer clear of\b"
)
_LEAST_ENCLOSING: Final = 3
_DEFINITE: Final = frozenset({"the", "tests"})
_LONGEST_STATEMENT: Final = 14
"""Words of a statement that is a rule without saying so."""
