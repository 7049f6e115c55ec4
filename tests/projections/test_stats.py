"""Count the contents of a log."""

from __future__ import annotations

from eventstore.records import Decision
from projections.stats import KindStats, Stats, stats
from tests.support.events import event
from tests.support.talk import Story, user


def test_an_empty_log_holds_nothing(log):
    assert stats(log) == Stats(sessions=0, events=0, body_bytes=0, kinds=[])


def test_kinds_are_counted_over_all_sessions_those_with_most_bytes_first(log):
    log.append("s", [event("e1", "novelty", n=1), event("e2", "novelty", n=22)])
    log.append("t", [event("e1", "custom", data="x" * 100)])
    sizes = [
        len(b'{"type": "custom", "customType": "x", "data": ""}') + 100,
        len(b'{"type": "novelty", "n": }') * 2 + 3,
    ]
    assert stats(log) == Stats(
        sessions=2,
        events=3,
        body_bytes=sum(sizes),
        kinds=[
            KindStats(kind="custom", events=1, bytes=sizes[0]),
            KindStats(kind="novelty", events=2, bytes=sizes[1]),
        ],
    )


def test_events_off_the_path_count(log):
    story = Story(log)
    story.says(user("hello"))
    story.add(Decision(outcome="skip", reason="small"))
    assert stats(log).events == 2
