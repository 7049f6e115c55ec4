"""Check claims against the log: each quotation stands where it says, each term is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from compaction.judge.claims import ClaimedFact, ClaimedLoss, ClaimedRule, Claims, Quoted
from compaction.judge.material import Material, Said, Who
from projections.audit.readings import Fact, Quotation, Refused, Rule, RuleState

_NEAR: Final = 3
"""Events before and behind the one that a quotation names, in which it may stand instead."""
_FEWEST_CALLS: Final = 3
PUBLIC: Final = re.compile(
    r"\bgit\s+push\b|\bgh\s+(?:pr|issue|release)\s+(?:create|comment|merge|close|edit)\b"
    r"|\b(?:npm|pnpm|yarn|cargo|poetry|uv)\s+publish\b|\btwine\s+upload\b|\bdocker\s+push\b|\bgem\s+push\b"
)
"""Commands by which others see what was done."""


class PossibleLoss(msgspec.Struct, frozen=True, kw_only=True):
    """A loss whose quotations and terms were checked; a second look decides."""

    claimed: ClaimedLoss
    known: list[Quotation]
    trouble: list[Quotation]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The claims that passed, and those that were refused with the reason."""

    rules: list[Rule]
    facts: list[Fact]
    losses: list[PossibleLoss]
    refused: list[Refused]


class RefusedError(Exception):
    """A claim failed a check; the text says why."""


def check_claims(claims: Claims, material: Material) -> Checked:
    """Check the claims of an answer. Nothing that a text of the session says can make one pass."""
    refused = [Refused(claim=each, reason="it has another shape") for each in claims.malformed]
    rules, facts, losses = list[Rule](), list[Fact](), list[PossibleLoss]()
    for rule in claims.rules:
        with _refusing(rule.rule, refused):
            rules.append(_rule(rule, material))
    for fact in claims.facts:
        with _refusing(fact.fact, refused):
            facts.append(_fact(fact, material))
    for loss in claims.losses:
        with _refusing(loss.loss, refused):
            losses.append(_loss(loss, material))
    return Checked(rules=rules, facts=facts, losses=losses, refused=refused)


@contextmanager
def _refusing(claim: str, refused: list[Refused]) -> Iterator[None]:
    """Note the claim as refused if a check in the block fails."""
    try:
        yield
    except RefusedError as error:
        refused.append(Refused(claim=claim, reason=str(error)))


def _rule(claim: ClaimedRule, material: Material) -> Rule:
    said = quotations(
        claim.said, [each for each in material.before if each.who is Who.PERSON], "no person said"
    )
    in_summary = _in_summary(claim.in_summary, material)
    if not material.boundary:
        return Rule(rule=claim.rule, said=said, state=RuleState.KEPT, in_summary=None, broken=[])
    stands = all(is_in(each.quote, material.shown) for each in said)
    broken = (
        quotations(claim.broken, material.after, "nothing behind the boundary says") if claim.broken else []
    )
    if claim.state == RuleState.BROKEN and not broken:
        raise RefusedError("it is said to be broken, without a quotation")
    if claim.state == RuleState.WEAKENED and in_summary is None:
        raise RefusedError("it is said to be weakened, without words of the summary")
    state = _state(claim.state, stands=stands, in_summary=in_summary)
    return Rule(rule=claim.rule, said=said, state=state, in_summary=in_summary, broken=broken)


def _state(claimed: str, *, stands: bool, in_summary: str | None) -> RuleState:
    """Return a rule's state: what a model says, unless the texts show otherwise."""
    if claimed in (RuleState.BROKEN, RuleState.WEAKENED):
        return RuleState(claimed)
    return RuleState.KEPT if stands or in_summary is not None else RuleState.GONE


def _fact(claim: ClaimedFact, material: Material) -> Fact:
    known = quotations(claim.known, material.before, "nothing before the boundary says")
    return Fact(
        fact=claim.fact, kind=claim.kind, known=known, in_summary=_in_summary(claim.in_summary, material)
    )


def _loss(claim: ClaimedLoss, material: Material) -> PossibleLoss:
    known = quotations(claim.known, material.before, "nothing before the boundary says")
    if not claim.trouble:
        raise RefusedError("no trouble, no loss")
    trouble = quotations(claim.trouble, material.after, "nothing behind the boundary says")
    first = min(each.seq for each in trouble)
    told = [*material.shown, *(each.text for each in material.after if each.seq < first)]
    for term in claim.missing:
        if not term.strip():
            raise RefusedError("a missing term is empty")
        if is_in(term, told):
            raise RefusedError(f"“{term}” was sent behind the boundary, before the trouble")
    if not claim.missing and all(is_in(each.quote, told) for each in known):
        raise RefusedError("what was known was sent behind the boundary, before the trouble")
    return PossibleLoss(claimed=claim, known=known, trouble=trouble)


def _in_summary(words: str | None, material: Material) -> str | None:
    if words is None or not words.strip():
        return None
    if not is_in(words, [material.summary]):
        raise RefusedError(f"the summary does not say “{words}”")
    return folded(words)


def quotations(claimed: Iterable[Quoted], texts: Sequence[Said], otherwise: str) -> list[Quotation]:
    """Return quotations where they stand.

    Raises RefusedError for none, and for one that stands nowhere near.
    """
    found = [_quotation(each, texts, otherwise) for each in claimed]
    if not found:
        raise RefusedError("it quotes nothing")
    return found


def _quotation(claimed: Quoted, texts: Sequence[Said], otherwise: str) -> Quotation:
    if not re.search(r"\w", claimed.quote):
        raise RefusedError("a quotation has no word")
    for seq in _nearby(claimed.event, texts):
        for each in texts:
            if each.seq == seq and is_in(claimed.quote, [each.text]):
                return Quotation(event=each.id, seq=seq, quote=folded(claimed.quote))
    raise RefusedError(f"{otherwise} “{folded(claimed.quote)[:80]}” at or near #{claimed.event}")


def _nearby(seq: int, texts: Sequence[Said]) -> Iterator[int]:
    """Yield a number, and those of the events around it, the nearest first."""
    numbers = sorted({each.seq for each in texts} | {seq})
    at = numbers.index(seq)
    yield seq
    for distance in range(1, _NEAR + 1):
        yield from (numbers[place] for place in (at - distance, at + distance) if 0 <= place < len(numbers))


def is_in(words: str, texts: Iterable[str]) -> bool:
    """Return True if a text has some words literally, white space aside."""
    sought = folded(words)
    return any(sought in folded(text) for text in texts)


def folded(text: str) -> str:
    return " ".join(text.split())


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
