"""Tell what a model read at a boundary, losses first, and the fate of what was given back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from cli.output import counted, safe_line
from projections.audit.readings import RuleState, Weight

if TYPE_CHECKING:
    from projections.audit.given_back import GivenBackAudit
    from projections.audit.readings import Loss, Quotation, Reading

_STYLES = {Weight.SERIOUS: "bold red", Weight.MINOR: "yellow"}


def lines_of_reading(reading: Reading, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the lines of a reading with their styles; `name` is that of its boundary."""
    place = name or reading.boundary or "open window"
    yield safe_line(f"read at {place}: {summary_of_reading(reading)}"), "bold"
    for loss in reading.shown_losses:
        yield safe_line(f"  {loss.weight}: {loss.loss} ({loss.verdict})"), _STYLES[loss.weight]
        yield from ((f"    {line}", "") for line in lines_of_loss(loss))
    for rule in reading.rules:
        if rule.state is not RuleState.KEPT:
            yield safe_line(f"  rule {rule.state}: {rule.rule}: {_quoted(rule.said)}"), "yellow"
            yield from ((safe_line(f"    broken: {_quoted([each])}"), "") for each in rule.broken)
    for statement in reading.unfounded:
        yield safe_line(f"  nobody said this: “{statement.sentence}”"), "yellow"


def lines_of_loss(loss: Loss) -> Iterator[str]:
    """Yield where a loss was known, what followed, and what a person said to it."""
    yield safe_line(f"known: {_quoted(loss.known)}")
    if loss.missing:
        yield safe_line(f"nowhere behind it: {', '.join(loss.missing)}")
    yield safe_line(f"trouble: {_quoted(loss.trouble)}")
    if loss.person is not None:
        yield safe_line(f"you: {_quoted([loss.person])}")


def summary_of_reading(reading: Reading) -> str:
    """Return a reading in a line: counts of losses, rules and facts, and of claims refused."""
    losses = reading.shown_losses
    serious = sum(each.weight is Weight.SERIOUS for each in losses)
    gone = sum(each.state is not RuleState.KEPT for each in reading.rules)
    lost = counted(len(losses), "loss", "losses") + (f" ({serious} serious)" if serious else "")
    rules = counted(len(reading.rules), "rule") + (f" ({gone} not kept)" if gone else "")
    refused = f"; {counted(len(reading.refused), 'claim')} refused" if reading.refused else ""
    unfounded = (
        f", {counted(len(reading.unfounded), 'statement')} that nobody made" if reading.unfounded else ""
    )
    return f"{lost}, {rules}, {counted(len(reading.facts), 'fact')}{unfounded}{refused}"


def given_back_text(given: GivenBackAudit, names: Mapping[str, str]) -> str:
    """Return a line on a return and its fate behind the newest compaction; `names` are by id."""
    arrived = sum(each.arrived for each in given.quotations)
    missing = len(given.quotations) - arrived
    facts = [
        f"given back at {names.get(given.boundary, given.boundary)}: {counted(len(given.quotations), 'quotation')},"
        f" about {counted(given.tokens, 'token')}" + (f" ({missing} not in the context)" if missing else "")
    ]
    newest = [each.fates[-1] for each in given.quotations if each.fates]
    if newest:
        states = Counter(each.state for each in newest)
        found = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
        facts.append(f"behind {names.get(newest[0].boundary, newest[0].boundary)}: {found}")
    return safe_line("; ".join(facts))


def _quoted(quotations: Iterable[Quotation]) -> str:
    return ", ".join(f"“{each.quote}” #{each.seq}" for each in quotations)
