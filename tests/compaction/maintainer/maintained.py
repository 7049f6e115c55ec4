"""Maintainers of the small sessions of tests, and what they put down."""

from __future__ import annotations

from itertools import count

from compaction.maintainer import Maintainer, Promotion, Settings
from compaction.summarizers import CancelledError, SummarizerError
from eventstore.records import record_of
from eventstore.writing import SessionWriter
from tests.compaction.scripted import Scripted, compactor, policy, turns
from tests.support.events import events

LARGER = Settings(promotion=Promotion(model="vast", window=1_000_000))


def maintainer(summarizer=None, *, settings=None, now=0, **changes):
    return Maintainer(
        compactor=compactor(summarizer or Scripted(lambda _: "so far"), policy(**changes)),
        now=lambda: now,
        settings=settings or Settings(),
    )


def handing(story, scribe=None, *, settings=None, **options):
    numbers = count(1)
    return Maintainer(
        compactor=compactor(scribe or Scripted()),
        now=lambda: 0,
        settings=settings or Settings(strategy="handoff"),
        new_session=lambda: SessionWriter(story.log, f"next-{next(numbers)}"),
        **options,
    )


NO_MODEL = SummarizerError("scripted", "no such model")


def fails(_prompt):
    raise SummarizerError("scripted", "no such model")


def cancels(_prompt):
    raise CancelledError


def failed_three_times(story):
    turns(story, 20, 10)
    for _ in range(3):
        maintainer(Scripted(fails)).after_turn(story.writer)
    return story


def decisions(story):
    found = [event for event in events(story.log, story.session) if event.kind == "decision"]
    return [
        (record.outcome, record.reason) for record in (record_of("decision", each.body) for each in found)
    ]


def kinds(story):
    return [
        event.kind for event in events(story.log, story.session) if event.kind not in ("message", "decision")
    ]
