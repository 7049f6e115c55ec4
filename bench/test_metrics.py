"""Compare the loss metrics of a compaction to one extraction of the same messages.

The whole long session follows the compaction.
"""

from __future__ import annotations

import pytest

from eventstore import open_store
from eventstore.formats import view_of_event, view_of_message
from projections.audit.future_use import future_use
from projections.audit.losses import recall
from projections.context.cursor import path, resolve_cursor
from projections.mentions import mentions
from projections.mentions.message_facts import SessionFacts, message_facts
from projections.replacement import replacement_of

LENGTHS = {"1k": 1_000, "10k": 10_000}
ROUNDS = {"1k": 10, "10k": 3}


@pytest.fixture(params=LENGTHS, scope="module")
def length(request):
    return request.param


@pytest.fixture(scope="module")
def oldest(length, made):
    """Return the session's first compaction, so that nearly everything follows it."""
    stored = made(LENGTHS[length], 60)
    with open_store(stored.store) as log, log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, stored.session)
        entries = path(snapshot, cursor)
        place = next(place for place, event in enumerate(entries) if event.kind == "compaction")
        return replacement_of(entries[place], snapshot, cursor, later=entries[place + 1 :])


def measured(replacement):
    facts = SessionFacts()
    end = replacement.later[-1].seq
    return recall(replacement, facts), future_use(replacement, facts, horizon=end)


def extracted(texts):
    return sum(len(mentions(text)) for text in texts)


def texts_of(replacement):
    """Return the texts of every message that the metrics read."""
    shown = {(part.seq, part.raw) for part in (*replacement.before.parts, *replacement.after.parts)}
    messages = [view_of_message(raw, "pi/3") for _, raw in sorted(shown)]
    messages += [view for event in replacement.later if (view := view_of_event(event)) is not None]
    return [text for message in messages for text in message_facts(0, "", message).texts]


def test_refold_measures_what_was_lost(measure, length, oldest):
    _, use = measure(f"metrics-{length}", "refold", measured, oldest, rounds=ROUNDS[length])
    assert use.messages > LENGTHS[length] / 4
    assert use.total


def test_what_the_same_messages_name_is_extracted(measure, length, oldest):
    measure(f"metrics-{length}", "floor", extracted, texts_of(oldest), rounds=ROUNDS[length])
