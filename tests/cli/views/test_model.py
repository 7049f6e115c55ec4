"""Replacements in order, with their names and warnings."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from cli.views.model import AuditedReplacement, Sizes, audit_view
from eventstore.records import FileOperations
from projections.audit.session import Counts, FilesAudit, TokensAfter, TokensBefore
from projections.audit.summary_text import Sections
from tests.cli.views.printing import figures
from tests.support.measured import audit, branch_summary, compaction, future_use, loss, rewrite, size

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


def remarks(replaced: AuditedReplacement) -> tuple[str, ...]:
    (view,) = audit_view(audit(replaced)).replacements
    return view.remarks


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


def sections(missing: list[str], duplicated: list[str]) -> Sections:
    return Sections(template="pi", headings=[], present=["Goal"], missing=missing, duplicated=duplicated)


def files(missing: list[str], unfounded: list[str]) -> FilesAudit:
    nothing = FileOperations(read_files=[], modified_files=[])
    return FilesAudit(claimed=nothing, recomputed=nothing, missing=missing, unfounded=unfounded)


@pytest.mark.parametrize("make", [compaction, branch_summary, rewrite])
def test_of_what_is_sound_there_is_nothing_to_say(make: Any) -> None:
    assert remarks(make(3)) == ()


def test_messages_that_no_summary_covers_are_told_apart_from_counts() -> None:
    dropped = compaction(
        3, messages=Counts(summarized=1, kept=0, dropped=2), future_use=future_use(0, 1, loss("a"))
    )
    (view,) = audit_view(audit(dropped)).replacements
    assert (view.dropped, figures(*view.counts)) == (2, [["1"]])


@pytest.mark.parametrize("make", [compaction, rewrite])
def test_a_context_that_grew_is_shown(make: Any) -> None:
    assert len(remarks(make(3, size=size(10, 11)))) == 1


def test_a_move_to_a_branch_with_more_is_no_fault() -> None:
    assert remarks(branch_summary(3, size=size(10, 11))) == ()


@pytest.mark.parametrize("make", [compaction, branch_summary])
def test_an_empty_summary_is_shown(make: Any) -> None:
    assert len(remarks(make(3, summary=" \n"))) == 1


@pytest.mark.parametrize("make", [compaction, branch_summary])
def test_sections_that_are_missing_or_there_twice_are_shown(make: Any) -> None:
    told = remarks(make(3, sections=sections(["Goal", "Next\nSteps"], ["Done"])))
    assert [line.partition(": ")[2] for line in told] == ["Goal, Next\\nSteps", "Done"]
    assert figures(*told) == [["2"], []]


@pytest.mark.parametrize("make", [compaction, branch_summary])
def test_files_that_a_list_lacks_or_makes_up_are_shown(make: Any) -> None:
    assert figures(*remarks(make(3, files=files(["a.py"], ["b.py", "c.py"])))) == [["1"], ["2"]]


def test_a_claim_of_tokens_that_is_far_from_every_count_is_shown() -> None:
    assert figures(*remarks(compaction(3, before=before(500, 1000, 800)))) == [["500", "1,000", "800"]]
    assert figures(*remarks(compaction(3, before=before(500, None, 800)))) == [["500", "800"]]


@pytest.mark.parametrize("claimed", [None, 1000, 1100, 900, 800, 720, 880])
def test_a_claim_of_tokens_near_one_of_the_counts_is_not(claimed: int | None) -> None:
    assert remarks(compaction(3, before=before(claimed, 1000, 800))) == ()
