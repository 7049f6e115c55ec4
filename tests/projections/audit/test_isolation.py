"""A figure that fails is named, and every other one is computed."""

from __future__ import annotations

from typing import NoReturn

import msgspec
import pytest

from eventstore.log import EventLog
from eventstore.records import Compaction
from projections.audit import metrics, session, stored_audit
from projections.audit.session import Audit, audit
from projections.tokens import counter
from tests.support.talk import Story, assistant, user


def fail(*_: object, **__: object) -> NoReturn:
    raise KeyError(73)


@pytest.fixture
def log(story: Story) -> EventLog:
    """A session with one compaction, its third event."""
    story.says(user("go"), assistant("ok"))
    story.add(Compaction(summary="so far", first_kept_entry_id="", tokens_before=10))
    story.says(user("go on"), assistant("done"))
    return story.log


def failures(found: Audit) -> list[tuple[str, int, str]]:
    return [(each.what, each.seq, each.error) for each in found.not_computed]


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("cost", "cost"),
        ("cache_effect", "prompt cache"),
        ("rework", "done again"),
        ("person_next", "said next"),
    ],
)
def test_a_metric_that_fails_is_named(
    log: EventLog, monkeypatch: pytest.MonkeyPatch, function: str, what: str
) -> None:
    monkeypatch.setattr(metrics, function, fail)
    assert failures(audit(log, "s")) == [(what, 3, "KeyError: 73")]


def test_the_other_metrics_are_computed(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = audit(log, "s").compactions[0].metrics
    monkeypatch.setattr(metrics, "cost", fail)
    assert audit(log, "s").compactions[0].metrics == msgspec.structs.replace(whole, cost=None)


@pytest.mark.parametrize(
    ("function", "what"), [("session_cost", "cost"), ("cache_history", "prompt cache"), ("path_gaps", "gaps")]
)
def test_a_failing_figure_of_the_session_is_named(
    log: EventLog, monkeypatch: pytest.MonkeyPatch, function: str, what: str
) -> None:
    monkeypatch.setattr(session, function, fail)
    assert failures(audit(log, "s")) == [(what, 0, "KeyError: 73")]


def test_a_compaction_that_fails_is_named(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "size", fail)
    found = audit(log, "s")
    assert (found.compactions, failures(found)) == ([], [("compaction", 3, "KeyError: 73")])


def test_what_failed_is_computed_again(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = counter("utf16/4")
    with monkeypatch.context() as patch:
        patch.setattr(metrics, "cost", fail)
        stored_audit.stored_audit(log, "s", tokens=tokens)
    assert stored_audit.stored_audit(log, "s", tokens=tokens).not_computed == []
