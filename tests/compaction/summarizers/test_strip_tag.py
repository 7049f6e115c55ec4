"""Remove the tagged part of an answer that its template strips."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compaction.summarizers.chain import strip_tag


def test_the_part_in_a_tag_goes_and_the_summary_stays():
    rows = [
        ("<analysis>hm</analysis>\n<summary>\nDone.\n</summary>", "Done."),
        ("<analysis>hm</analysis>\nDone.", "Done."),
        ("Done.", "Done."),
        ("<summary>Done.</summary>", "Done."),
        ("First:\n<analysis>hm</analysis>\n<summary>Done.</summary>\nBye.", "Done."),
        ("<summary>Done.", "Done."),
        ("<analysis>hm", ""),
        ("<analysis>hm\n<summary>Done.</summary>", "Done."),
        ("<analysis>I write <summary> next</analysis><summary>Done.</summary>", "Done."),
        ("<summary>It spoke of <analysis> tags.</summary>", "It spoke of <analysis> tags."),
        ("<summary>It closed </summary> twice.</summary>", "It closed </summary> twice."),
        (
            "<analysis>a</analysis><summary>of </analysis> and <analysis></summary>",
            "of </analysis> and <analysis>",
        ),
        ("", ""),
    ]
    assert {answer: strip_tag(answer, "analysis") for answer, _ in rows} == dict(rows)


def test_without_a_tag_nothing_is_stripped_but_space():
    assert strip_tag("\n<summary>Done.</summary>\n", "") == "<summary>Done.</summary>"


@given(st.text(), st.text())
def test_a_well_formed_answer_gives_its_summary(thought, summary):
    answer = f"<analysis>{thought}</analysis>\n<summary>{summary}</summary>"
    if not {"<", ">"} & {*thought, *summary}:
        assert strip_tag(answer, "analysis") == summary.strip()
