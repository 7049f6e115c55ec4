"""List the user's standing rules on a path, and what the context at its leaf has of them."""

from __future__ import annotations

from eventstore.log import Snapshot
from projections.audit.given_rules import (
    LONGEST_LINE,
    first_given,
    look_for,
    of_kind,
    recorded_messages,
    user_messages,
)
from projections.audit.measure import MetricStruct
from projections.audit.restatements import normalize
from projections.audit.rule_readings import rule_readings
from projections.context.build import context_at
from projections.context.cursor import Cursor, path
from projections.mentions.message_facts import SessionFacts
from projections.mentions.standing_rules import InstructionKind


class RuleAtLeaf(MetricStruct, frozen=True):
    """A standing rule given on a path, and what the context at its leaf has of it.

    `state` is "shown" if the context has the message `event`, which gave it first, or another one that gives
    it; "restated" if another message says it in similar words, else "not found". `nearest` is the most similar line of
    the context. `is_read` means that a model read the message.
    """

    text: str
    event: str
    seq: int
    state: str
    nearest: str
    is_read: bool


def rules_at(snapshot: Snapshot, cursor: Cursor) -> list[RuleAtLeaf]:
    """Return the standing rules that the user gave on the path to a cursor, in order."""
    readings = rule_readings(snapshot, cursor.session, as_of=cursor.as_of)
    context = context_at(snapshot, cursor)
    given = of_kind(first_given(recorded_messages(path(snapshot, cursor), readings)), InstructionKind.RULE)
    shown = {
        normalize(each.text)
        for said in user_messages(context.parts, SessionFacts(), readings)
        for each in said.instructions
    }
    return [
        RuleAtLeaf(
            text=rule.text,
            event=rule.source.id,
            seq=rule.source.seq,
            state="shown" if normalize(rule.text) in shown else "restated" if rule.is_said else "not found",
            nearest=rule.nearest.text[:LONGEST_LINE],
            is_read=rule.source.id in readings.rules,
        )
        for rule in look_for(given, context.parts, readings)
    ]
