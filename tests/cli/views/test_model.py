"""Replacements in order, with their names and warnings."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from cli.views.model import AuditedReplacement, Sizes, audit_view
from eventstore.records import FileOperations
from projections.audit.conditions import FilesAudit, TokensBefore
from projections.audit.session import TokensAfter
from tests.support.measured import audit, branch_summary, compaction, followed, redone, ref, rewrite, size

REPLACEMENTS = audit_view(
    audit(compaction(2), compaction(8, undone=True), branch_summary(5), rewrite(3, undone=True), rewrite(9))
).replacements


def test_replacements_of_every_kind_are_in_order_of_the_log() -> None:
    assert [each.seq for each in REPLACEMENTS] == [2, 3, 5, 8, 9]


def test_a_replacement_is_called_by_its_kind_and_its_number_among_that_kind() -> None:
    assert {each.seq: each.name for each in REPLACEMENTS} == {
        2: "compaction 1",
        8: "compaction 2",
        5: "branch summary 1",
        3: "rewrite 1",
        9: "rewrite 2",
    }


def test_compactions_and_rewrites_may_be_undone() -> None:
    assert {each.seq for each in REPLACEMENTS if each.is_undone} == {3, 8}


def remarks(replaced: AuditedReplacement) -> list[str]:
    (view,) = audit_view(audit(replaced)).replacements
    return [each.text for each in view.remarks]


def before(claimed: int | None, measured: int | None, recomputed: int) -> TokensBefore:
    return TokensBefore(
        claimed=claimed, measured=measured, measured_at="e1", recomputed=recomputed, unexplained=None
    )


def test_sizes_are_those_of_the_calls_if_all_were_measured() -> None:
    after = TokensAfter(claimed=None, measured=5_000, measured_at="e2", recomputed=1)
    measured, other = (
        structs.replace(compaction(seq, size=size(10, 1)), before=before(None, sent, 10), after=after)
        for seq, sent in ((3, 90_000), (5, None))
    )
    estimated = Sizes(before=10, after=1, counted="estimated")
    assert audit_view(audit(measured)).sizes == {3: Sizes(before=90_000, after=5_000, counted="measured")}
    assert audit_view(audit(measured, other)).sizes == {3: estimated, 5: estimated}
    assert audit_view(audit(other, estimate=False)).sizes[5].counted == "exact"


def files(missing: list[str], unfounded: list[str]) -> FilesAudit:
    nothing = FileOperations(read_files=[], modified_files=[])
    return FilesAudit(claimed=nothing, recomputed=nothing, missing=missing, unfounded=unfounded)


@pytest.mark.parametrize("make", [compaction, branch_summary, rewrite])
def test_without_conditions_there_is_nothing_to_say(make: Any) -> None:
    assert remarks(make(3)) == []


def test_messages_that_no_summary_covers_are_named() -> None:
    uncovered = compaction(3, uncovered=[ref(7), ref(8)], old_summary=ref(2), conditions=["uncovered"])
    assert remarks(uncovered) == [
        "2 messages (#7, #8) and the summary of #2 left the context, and no summary covers them"
    ]


@pytest.mark.parametrize(("condition", "word"), [("larger", "larger"), ("no-gain", "hardly smaller")])
def test_sizes_without_gain_are_told(condition: str, word: str) -> None:
    assert remarks(compaction(3, size=size(10, 11), conditions=[condition])) == [
        f"the context is {word}, recomputed: 10 -> 11 tokens"
    ]


def test_a_quick_succession_counts_the_answers_between() -> None:
    assert remarks(compaction(3, answers_since=1, conditions=["quick"])) == [
        "it came 1 answer of the model after the compaction before it"
    ]


def test_files_read_again_are_named_without_their_folders() -> None:
    again = redone("/repo/a.py", "b.py", "c.py", "d.py")
    assert remarks(compaction(3, rework=again, conditions=["fetched-again"])) == [
        "a.py, b.py, c.py and 1 more read again, 400 tokens that the context had held: #9, #9, #9, #9"
    ]


def test_a_repeated_failure_is_named_by_both_events() -> None:
    assert remarks(compaction(3, rework=redone(), conditions=["failed-again"])) == [
        "a call failed again at #10 as at #2"
    ]


@pytest.mark.parametrize("make", [compaction, branch_summary])
def test_files_missing_or_unfounded_are_named(make: Any) -> None:
    shown = make(3, files=files(["x/a.py"], ["b.py", "c.py"]), conditions=["files"])
    assert remarks(shown) == [
        "its list lacks 1 touched file: a.py",
        "its list has 2 files that no call touched: b.py, c.py",
    ]


def test_a_claim_is_told_beside_the_counts() -> None:
    claims = compaction(3, before=before(500, 1000, 800), conditions=["claim"])
    assert remarks(claims) == ["its record claims 500 tokens before; measured 1,000, recomputed 800"]


def test_what_nobody_judged_is_counted_over_all_compactions() -> None:
    view = audit_view(
        audit(compaction(3, next=followed(4, 9, refusals=(9,))), compaction(12, next=followed(13)))
    )
    assert view.not_judged == "not judged: 3 messages of yours follow, 1 refuses a call (#9)"


def test_messages_behind_what_was_undone_do_not_count() -> None:
    assert audit_view(audit(compaction(3, undone=True, next=followed(4)))).not_judged == ""


def test_a_compactions_own_rewrite_counts_once() -> None:
    again = redone("a.py")
    both = audit(compaction(3, rework=again), rewrite(4, compaction="c3", rework=again))
    assert audit_view(both).row.fetched == 100
