"""Conditions of compactions, and when they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.memory import MemoryLog
from eventstore.records import Compaction, Rewrite, TextReplacement
from projections.audit.conditions import FEWEST_ANSWERS, Condition
from projections.audit.session import audit
from tests.support import claude_code
from tests.support.talk import assistant, call, result, user


def compacts(story, summary="s", first_kept="", **fields):
    given = {"tokens_before": 100, **fields}
    return story.add(Compaction(summary=summary, first_kept_entry_id=first_kept, **given))


@pytest.fixture
def talked(story):
    """A context of 100 tokens."""
    story.says(user("x" * 200), assistant("y" * 200))
    return story


def conditions(story):
    return [each.conditions for each in audit(story.log, "s").compactions]


def test_a_sound_compaction_has_no_conditions(talked):
    compacts(talked)
    assert conditions(talked) == [[]]


def test_without_a_summary_nothing_is_covered(talked):
    compacts(talked, summary=" ")
    (only,) = audit(talked.log, "s").compactions
    assert only.conditions == [Condition.UNCOVERED]
    assert [each.seq for each in only.uncovered] == [1, 2]
    assert (only.messages.summarized, only.messages.uncovered) == (0, 2)


def test_an_old_summary_without_a_successor_is_uncovered(talked):
    compacts(talked)
    talked.says(*(assistant("y" * 200) for _ in range(FEWEST_ANSWERS)))
    compacts(talked, summary="", tokens_before=251)
    _, second = audit(talked.log, "s").compactions
    assert second.old_summary.seq == 3
    assert Condition.UNCOVERED in second.conditions


def test_an_older_summary_goes_into_the_next(talked):
    compacts(talked)
    talked.says(*(assistant("y" * 200) for _ in range(FEWEST_ANSWERS)))
    compacts(talked, tokens_before=251)
    assert audit(talked.log, "s").compactions[1].old_summary is None


@pytest.mark.parametrize(
    ("tokens", "condition"),
    [(90, []), (91, [Condition.NO_GAIN]), (100, [Condition.NO_GAIN]), (101, [Condition.LARGER])],
)
def test_less_than_a_tenth_gained_is_a_condition(talked, tokens, condition):
    compacts(talked, summary="z" * 4 * tokens)
    assert conditions(talked) == [condition]


def test_a_rewrite_may_gain_little(talked):
    talked.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="x" * 196)]))
    (only,) = audit(talked.log, "s").rewrites
    assert only.conditions == []


def test_a_rewrite_that_gains_nothing_has_a_condition(talked):
    talked.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="z" * 200)]))
    (only,) = audit(talked.log, "s").rewrites
    assert only.conditions == [Condition.NO_GAIN]


@pytest.mark.parametrize(
    ("answers", "is_quick"), [(0, True), (FEWEST_ANSWERS - 1, True), (FEWEST_ANSWERS, False)]
)
def test_few_answers_between_compactions_are_a_quick_succession(talked, answers, is_quick):
    compacts(talked)
    talked.says(user("x" * 400), *(assistant("y" * 40) for _ in range(answers)))
    compacts(talked, tokens_before=101 + 10 * answers)
    second = audit(talked.log, "s").compactions[1]
    assert second.answers_since == answers
    assert second.conditions == ([Condition.QUICK] if is_quick else [])


def test_files_unlike_the_logs_are_a_condition(talked):
    talked.says(assistant(call("read", "c1", path="a.py")), result("x", call_id="c1"))
    compacts(talked, tokens_before=106, details={"readFiles": ["b.py"], "modifiedFiles": []})
    (only,) = audit(talked.log, "s").compactions
    assert only.conditions == [Condition.FILES]
    assert (only.files.missing, only.files.unfounded) == (["a.py"], ["b.py"])


@pytest.mark.parametrize(("claimed", "is_wrong"), [(90, False), (110, False), (89, True), (112, True)])
def test_a_claim_far_from_counts_is_a_condition(talked, claimed, is_wrong):
    compacts(talked, tokens_before=claimed)
    assert conditions(talked) == [[Condition.CLAIM] if is_wrong else []]


def test_a_session_begun_compacted_did_not_grow(story):
    compacts(story, summary="z" * 400, tokens_before=0)
    assert conditions(story) == [[]]


def test_a_rewrite_of_what_is_elsewhere_claims_nothing(tmp_path: Path) -> None:
    log = MemoryLog()
    cleared = {"tokensSaved": 900, "compactedToolIds": ["toolu_before_this_file"]}
    boundary = claude_code.record(
        "b", "u", "system", subtype="microcompact_boundary", microcompactMetadata=cleared
    )
    claude_code.bring(log, tmp_path / "s.jsonl", claude_code.said("u", None, "go"), boundary)
    (rewrite,) = audit(log, claude_code.SESSION).rewrites
    assert (rewrite.targets, rewrite.tokens_saved, rewrite.conditions) == ([], None, [])
