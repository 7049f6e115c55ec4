"""Read the claims of a model's answer, one by one, so that a malformed one spoils no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Final, TypeVar

import msgspec

from eventstore.javascript import stringify
from projections.audit.readings import RuleState, Verdict

MOST_FACTS: Final = 25
MOST_STATEMENTS: Final = 25
_LONGEST: Final = 1 << 20
"""Characters of an answer that are read."""
_FAILURE: Final = 256
_COUNTED: Final = 16
"""The cost of an error, in characters read; so many characters' lines are counted for one."""
_MOST_READ: Final = 4
"""The times that an answer is read, at most, from places at which no object begins."""


def _one_of(*values: str) -> msgspec.Meta:
    """Return what a schema says of a text. Another one is left to the checks."""
    return msgspec.Meta(extra_json_schema={"enum": [*map(str, values)]})


class Quoted(msgspec.Struct, frozen=True):
    """Words that a claim says an event has, by the event's number."""

    event: int
    quote: str


class ClaimedRule(msgspec.Struct, frozen=True):
    """A rule as claimed; see `projections.audit.readings.Rule`."""

    rule: str
    said: list[Quoted]
    state: Annotated[str, _one_of(RuleState.KEPT, RuleState.WEAKENED, RuleState.GONE, RuleState.BROKEN)] = ""
    in_summary: str | None = None
    broken: list[Quoted] = []


class ClaimedFact(msgspec.Struct, frozen=True):
    """A fact as claimed; see `projections.audit.readings.Fact`."""

    fact: str
    known: list[Quoted]
    kind: str = ""
    in_summary: str | None = None


class ClaimedLoss(msgspec.Struct, frozen=True):
    """A loss as claimed; see `projections.audit.readings.Loss`."""

    loss: str
    known: list[Quoted]
    trouble: list[Quoted]
    kind: str = ""
    missing: list[str] = []


class ClaimedStatement(msgspec.Struct, frozen=True):
    """A statement as claimed; see `projections.audit.readings.Statement`."""

    sentence: str
    said: list[Quoted]
    in_previous: str | None = None


class Look(msgspec.Struct, frozen=True):
    """The answer of a second look: a verdict, the words that it rests on, and a person's."""

    verdict: Annotated[
        str, _one_of(Verdict.LOST, Verdict.NOT_HEEDED, Verdict.NEVER_KNOWN, Verdict.NOT_NEEDED)
    ]
    because: Quoted
    person: Quoted | None = None


class Lists(msgspec.Struct, frozen=True, kw_only=True):
    """The claims of an answer."""

    rules: list[ClaimedRule]
    facts: list[ClaimedFact]
    losses: list[ClaimedLoss]
    statements: list[ClaimedStatement]


class Claims(Lists, frozen=True, kw_only=True):
    """The claims of an answer. `malformed` are those of another shape, as JSON."""

    malformed: list[str]


def schema_of(shape: type[Lists | Look]) -> bytes:
    """Return the JSON schema of an answer in which each property is given, and no other."""
    _, parts = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    found = {name: _strict(part) for name, part in parts.items()}
    return stringify({**found.pop(shape.__name__), "$defs": found}).encode()


def _strict(schema: object) -> Any:
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _strict(value) for key, value in schema.items() if key not in _UNNEEDED}
    if "properties" in found:
        found |= {"required": [*found["properties"]], "additionalProperties": False}
    return found


T = TypeVar("T")
_UNNEEDED: Final = frozenset({"default", "description", "title"})
"""Keys of a schema that the template says better."""


def claims_in(answer: str) -> Claims | None:
    """Return the claims of an answer, None if it holds no JSON object with one of the lists."""
    lists = {"rules", "facts", "losses", "statements"}
    found = next((each for each in objects_in(answer) if lists & each.keys()), None)
    if found is None:
        return None
    malformed = list[str]()
    rules = _each(found.get("rules"), ClaimedRule, malformed)
    facts = _each(found.get("facts"), ClaimedFact, malformed)[:MOST_FACTS]
    losses = _each(found.get("losses"), ClaimedLoss, malformed)
    statements = _each(found.get("statements"), ClaimedStatement, malformed)[:MOST_STATEMENTS]
    return Claims(rules=rules, facts=facts, losses=losses, statements=statements, malformed=malformed)


def look_in(answer: str) -> Look | None:
    """Return the second look of an answer, None if it has none."""
    for each in objects_in(answer):
        try:
            return msgspec.convert(each, Look)
        except msgspec.ValidationError:
            continue
    return None


def objects_in(answer: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text that are in no other, from the largest start on."""
    decoder, at, answer = json.JSONDecoder(), 0, answer[:_LONGEST]
    left = _MOST_READ * len(answer)
    while left > 0 and (at := answer.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(answer, at)
        except (ValueError, RecursionError) as error:
            # An error costs something by itself, and counts the lines before it.
            left -= _read_until(error, answer) - at + _FAILURE + at // _COUNTED
            at += 1
            continue
        if isinstance(value, dict):
            yield value


def _read_until(error: Exception, answer: str) -> int:
    """Return where a decoder ended at the latest, or after it."""
    # Of a text without an end it tells the beginning.
    if isinstance(error, json.JSONDecodeError) and not error.msg.startswith("Unterminated"):
        return error.pos + 1
    return len(answer)


def _each(given: object, shape: type[T], malformed: list[str]) -> list[T]:
    found = list[T]()
    for each in given if isinstance(given, list) else ():
        try:
            found.append(msgspec.convert(each, shape))
        except msgspec.ValidationError as error:
            malformed.append(f"{json.dumps(each)[:200]}: {error}")
    return found
