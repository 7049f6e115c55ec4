"""Check claims against the log: each quotation stands where it says, each term is missing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from compaction.judge.claims import ClaimedFact, ClaimedLoss, ClaimedRule, ClaimedStatement, Claims, Quoted
from compaction.judge.material import Material, Said
from projections.audit.readings import PUBLIC, Fact, Quotation, Refused, Rule, RuleState, Statement
from projections.audit.said import Texts
from projections.person_text import folded
from projections.pieces import Who

_NEAR: Final = 3
"""Events before and behind the one that a quotation names, in which it may stand instead."""
_FEWEST_CALLS: Final = 3
_FEWEST_CHARACTERS: Final = 12
"""Characters of a quotation; a shorter one is all that its text says."""
_IN_QUOTES: Final = re.compile(r"\"[^\"]+\"|“[^”]+”|`[^`]+`|«[^»]+»")


class PossibleLoss(msgspec.Struct, frozen=True, kw_only=True):
    """A loss, or a broken rule, whose quotations and terms were checked; a second look decides.

    `is_told`: the context right behind the boundary says it, so that it may be not heeded, but is not lost.
    """

    claim: str
    known: list[Quotation]
    trouble: list[Quotation]
    kind: str = ""
    missing: list[str] = []
    is_told: bool = False


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The claims that passed, and those that were refused with the reason."""

    rules: list[Rule]
    facts: list[Fact]
    losses: list[PossibleLoss]
    statements: list[Statement]
    refused: list[Refused]


class RefusedError(Exception):
    """A claim failed a check; the text says why."""


def check_claims(claims: Claims, material: Material) -> Checked:
    """Check the claims of an answer. Nothing that a text of the session says can make one pass."""
    refused = [Refused(claim=each, reason="it has another shape") for each in claims.malformed]
    rules, facts, losses, statements = list[Rule](), list[Fact](), list[PossibleLoss](), list[Statement]()
    for rule in claims.rules:
        with _refusing(rule.rule, refused):
            rules.append(_rule(rule, material))
    for fact in claims.facts:
        with _refusing(fact.fact, refused):
            facts.append(_fact(fact, material))
    for loss in claims.losses:
        with _refusing(loss.loss, refused):
            losses.append(_loss(loss, material))
    for statement in claims.statements:
        with _refusing(statement.sentence, refused):
            statements.append(_statement(statement, material))
    return Checked(rules=rules, facts=facts, losses=losses, statements=statements, refused=refused)


@contextmanager
def _refusing(claim: str, refused: list[Refused]) -> Iterator[None]:
    """Note the claim as refused if a check in the block fails."""
    try:
        yield
    except RefusedError as error:
        refused.append(Refused(claim=claim, reason=str(error)))


def _rule(claim: ClaimedRule, material: Material) -> Rule:
    said = before(claim.said, material, "no person said", by={Who.PERSON})
    in_summary = _in_summary(claim.in_summary, material)
    rule = Rule(rule=claim.rule, said=said, state=RuleState.KEPT, in_summary=in_summary, broken=[])
    if not material.boundary:
        return rule
    if claim.state == RuleState.WEAKENED and in_summary is None:
        raise RefusedError("it is said to be weakened, without words of the summary")
    if claim.state != RuleState.BROKEN:
        return unbroken(rule, material, is_weakened=claim.state == RuleState.WEAKENED)
    if not claim.broken:
        raise RefusedError("it is said to be broken, without a quotation")
    broken = quotations(claim.broken, material.after, material, "nothing behind the boundary says")
    return msgspec.structs.replace(rule, state=RuleState.BROKEN, broken=broken)


def unbroken(rule: Rule, material: Material, *, is_weakened: bool = False) -> Rule:
    """Return a rule with the state that the texts behind the boundary show."""
    shown = Texts(material.shown)
    stands = all(shown.has(each.quote) for each in rule.said)
    if stands or (rule.in_summary is not None and not is_weakened):
        state = RuleState.KEPT
    elif material.is_opaque:
        state = RuleState.UNKNOWN
    else:
        state = RuleState.WEAKENED if is_weakened else RuleState.GONE
    return msgspec.structs.replace(rule, state=state, broken=[])


def _fact(claim: ClaimedFact, material: Material) -> Fact:
    known = before(claim.known, material, "nothing before the boundary says")
    return Fact(
        fact=claim.fact, kind=claim.kind, known=known, in_summary=_in_summary(claim.in_summary, material)
    )


def _loss(claim: ClaimedLoss, material: Material) -> PossibleLoss:
    known = before(claim.known, material, "nothing before the boundary says")
    if not claim.trouble:
        raise RefusedError("no trouble, no loss")
    trouble = quotations(claim.trouble, material.after, material, "nothing behind the boundary says")
    first = min(each.seq for each in trouble)
    missing, is_told = _missing(claim.missing, known, first, material)
    return PossibleLoss(
        claim=claim.loss, kind=claim.kind, known=known, missing=missing, trouble=trouble, is_told=is_told
    )


def _missing(
    terms: Sequence[str], known: Sequence[Quotation], first: int, material: Material
) -> tuple[list[str], bool]:
    """Return the terms that nothing says between the boundary and the trouble at event `first`.

    Also return True if the context right behind the boundary has all terms, or all that was known. Raises RefusedError
    if a message brought them back.
    """
    said = [_plain(each.text) for each in (*material.before, *material.earlier)]
    shown = [_plain(each) for each in material.shown]
    told = [*shown, *(_plain(each.text) for each in material.after if each.seq < first)]
    for term in map(_plain, terms):
        if not term:
            raise RefusedError("a missing term is empty")
        if not any(term in text for text in said):
            raise RefusedError(f"“{term}” is not in what was known")
    is_told = False
    for words in filter(None, (terms, [each.quote for each in known])):
        if all(any(_plain(each) in text for text in told) for each in words):
            back = next((each for each in words if not any(_plain(each) in text for text in shown)), None)
            if back is not None:
                raise RefusedError(f"“{back[:80]}” was sent behind the boundary, before the trouble")
            is_told = True
    return [each for each in terms if not any(_plain(each) in text for text in told)], is_told


def _statement(claim: ClaimedStatement, material: Material) -> Statement:
    if not is_quoted(claim.sentence, material.summary):
        raise RefusedError("the summary does not say it")
    people = {Who.PERSON, Who.ANSWER}
    said = before(claim.said, material, "no person said", by=people) if claim.said else []
    previous = claim.in_previous if claim.in_previous and claim.in_previous.strip() else None
    if previous is not None and not is_quoted(previous, material.previous):
        raise RefusedError(f"the previous summary does not say “{previous[:80]}”")
    found = Statement(
        sentence=folded(claim.sentence), said=said, in_previous=None if previous is None else folded(previous)
    )
    if found.is_unfounded:
        if material.begins_midway:
            raise RefusedError("the file begins in the middle of the session: who said it is not known")
        # A command that asks for a compaction is recorded right behind it.
        near = (each for each in material.after if each.seq <= material.seq + _NEAR)
        heard = [each for each in (*material.before, *material.earlier, *near) if each.who in people]
        _require_unsaid(found.sentence, heard, material.previous)
    return found


def _require_unsaid(sentence: str, people: Iterable[Said], previous: str) -> None:
    """Raise RefusedError if somebody said a sentence, or what it quotes."""
    phrases = [
        _plain(each) for each in (sentence, *(found[0][1:-1] for found in _IN_QUOTES.finditer(sentence)))
    ]
    for phrase in filter(None, phrases):
        is_long = len(phrase) >= _FEWEST_CHARACTERS
        for each in people:
            text = _plain(each.text)
            if phrase in text if is_long else phrase == text.rstrip(".!"):
                raise RefusedError(f"a person said “{phrase[:80]}” at #{each.seq}")
        if is_long and phrase in _plain(previous):
            raise RefusedError(f"the previous summary says “{phrase[:80]}”")


def _in_summary(words: str | None, material: Material) -> str | None:
    if words is None or not words.strip():
        return None
    if not is_quoted(words, material.summary):
        raise RefusedError(f"the summary does not say “{words}”")
    return folded(words)


def before(
    claimed: Iterable[Quoted], material: Material, otherwise: str, *, by: Collection[Who] = frozenset(Who)
) -> list[Quotation]:
    """Return quotations of what was said before the boundary, by some authors.

    What the previous summary quotes literally is quoted where it was said first. Raises RefusedError.
    """
    texts = [each for each in material.before if each.who in by]
    found = list[Quotation]()
    for each in claimed:
        try:
            found += quotations([each], texts, material, otherwise)
        except RefusedError:
            is_carried = is_quoted(each.quote, material.previous)
            sources = [
                piece for piece in material.earlier if piece.who in by and is_quoted(each.quote, piece.text)
            ]
            if not is_carried or not sources:
                raise
            found.append(Quotation(event=sources[0].id, seq=sources[0].seq, quote=folded(each.quote)))
    if not found:
        raise RefusedError("it quotes nothing")
    return found


def quotations(
    claimed: Iterable[Quoted], texts: Sequence[Said], material: Material, otherwise: str
) -> list[Quotation]:
    """Return quotations of some texts where they stand.

    Raises RefusedError for none, and for one that stands nowhere near.
    """
    found = [_quotation(each, texts, material, otherwise) for each in claimed]
    if not found:
        raise RefusedError("it quotes nothing")
    return found


def _quotation(claimed: Quoted, texts: Sequence[Said], material: Material, otherwise: str) -> Quotation:
    for seq in _nearby(claimed.event, material):
        for each in texts:
            if each.seq == seq and is_quoted(claimed.quote, each.text):
                return Quotation(event=each.id, seq=seq, quote=folded(claimed.quote))
    raise RefusedError(f"{otherwise} “{folded(claimed.quote)[:80]}” at or near #{claimed.event}")


def is_quoted(words: str, text: str) -> bool:
    """Return True if a text has some words literally: enough of them, or all that it says."""
    sought, whole = folded(words), folded(text)
    if len(sought) < _FEWEST_CHARACTERS:
        return sought == whole != ""
    # A part of a word is no quotation.
    begin = r"(?<!\w)" if sought[0].isalnum() else ""
    end = r"(?!\w)" if sought[-1].isalnum() else ""
    return re.search(begin + re.escape(sought) + end, whole) is not None


def _nearby(seq: int, material: Material) -> Iterator[int]:
    """Yield a number that was read, and those of the events around it, the nearest first."""
    numbers = sorted({each.seq for each in (*material.before, *material.after)})
    if seq not in numbers:
        return
    at = numbers.index(seq)
    yield seq
    for distance in range(1, _NEAR + 1):
        yield from (numbers[place] for place in (at - distance, at + distance) if 0 <= place < len(numbers))


def _plain(text: str) -> str:
    return folded(text).casefold()


def was_costly(trouble: Sequence[Quotation], material: Material) -> bool:
    """Return True if trouble has a failed run, or three calls."""
    first, last = min(each.seq for each in trouble), max(each.seq for each in trouble)
    within = [each for each in material.after if first <= each.seq <= last]
    return any(each.who is Who.ERROR for each in within) or (
        sum(each.who is Who.CALL for each in within) >= _FEWEST_CALLS
    )


def was_public(trouble: Sequence[Quotation], material: Material) -> bool:
    """Return True if trouble has a call by which others see what was done."""
    numbers = {each.seq for each in trouble}
    return any(
        each.who is Who.CALL and each.seq in numbers and PUBLIC.search(each.text) is not None
        for each in material.after
    )
