from __future__ import annotations

import re
from typing import Any

import pytest

from cli.auditing import KINDS, METRICS, Bound, bound, breaches, share_of
from cli.views.model import audit_view
from eventstore.lmdb.store import LmdbLog
from projections.audit.losses import recall as recall_of
from projections.context.cursor import stand
from projections.mentions.message_facts import Holdings
from projections.replacement import replacement_of
from tests.support.measured import (
    audit,
    branch_summary,
    compaction,
    future_use,
    gone,
    instructions,
    metrics,
    recall,
    rewrite,
)
from tests.support.talk import Story, user


def broken(replaced: Any, *bounds: str) -> list[str]:
    return list(breaches(audit_view(audit(replaced)), [bound(text) for text in bounds]))


def test_a_share_under_its_bound_is_told_with_session_event_metric_value_and_bound() -> None:
    (told,) = broken(compaction(7, future_use=future_use(3, 4)), "future-use=0.8")
    named = ("'s'", "compaction 1", "c7 #7", "future-use", "0.75", "0.8")
    assert [each in told for each in named] == [True] * 6


@pytest.mark.parametrize("least", ["0.75", "0.5", "0"])
def test_a_share_that_is_not_under_its_bound_passes(least: str) -> None:
    assert broken(compaction(7, future_use=future_use(3, 4)), f"future-use={least}") == []


def test_where_there_was_nothing_to_find_every_bound_is_met() -> None:
    assert broken(compaction(7), *(f"{metric}=1" for metric in METRICS)) == []


@pytest.mark.parametrize("make", [compaction, branch_summary, rewrite])
def test_bounds_hold_for_replacements_of_every_kind(make: Any) -> None:
    assert len(broken(make(7, future_use=future_use(0, 4)), "future-use=0.8")) == 1


@pytest.mark.parametrize("make", [compaction, rewrite])
def test_what_was_undone_is_under_no_bound(make: Any) -> None:
    assert broken(make(7, undone=True, future_use=future_use(0, 4)), "future-use=0.8") == []


def test_every_bound_that_is_broken_is_told() -> None:
    replaced = compaction(7, future_use=future_use(0, 4), recall=recall(symbols=(1, 4)))
    told = [line.split(": ")[1] for line in broken(replaced, "future-use=0.8", "recall=0.3", "recall=0.2")]
    assert [line.split()[0] for line in told] == ["future-use", "recall"]
    assert [re.findall(r"[\d.]+", line) for line in told] == [["0", "0.8"], ["0.25", "0.3"]]


def test_each_metric_is_a_share_of_its_own() -> None:
    measured = metrics(
        future_use=future_use(1, 10),
        instructions=instructions(5, *[gone("Never do it.")] * 4),
        recall=recall(paths_read=(3, 10), urls=(5, 10)),
    )
    shares = {metric: share_of(measured, metric) for metric in METRICS}
    assert {metric: share for metric, share in shares.items() if share is not None} == {
        "future-use": 0.1,
        "instructions": 0.2,
        "recall": 0.4,
        "recall.paths-read": 0.3,
        "recall.urls": 0.5,
    }


def test_the_kinds_are_those_that_recall_is_measured_of(store: LmdbLog) -> None:
    story = Story(store)
    story.says(user("hello"))
    with store.snapshot() as snapshot:
        at = stand(snapshot, "s")
        measured = recall_of(replacement_of(story["e1"], snapshot, at), Holdings())
    assert tuple(kind.kind for kind in measured.kinds) == KINDS


def test_a_bound_is_a_metric_and_a_share() -> None:
    assert bound("recall.paths-read=0.25") == Bound("recall.paths-read", 0.25)


@pytest.mark.parametrize("text", ["recal=0.8", "recall.paths=0.8", "0.8", "", "recall .symbols=1"])
def test_another_metric_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(ValueError, match="future-use, recall, instructions, re"):
        bound(text)


@pytest.mark.parametrize("share", ["", "80", "80%", "-0.1", "1.01", "nan", "inf", "much"])
def test_what_is_no_share_is_refused(share: str) -> None:
    with pytest.raises(ValueError, match=r"recall=0\.8"):
        bound(f"recall={share}")
