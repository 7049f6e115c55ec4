"""Earlier summaries, read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.summarizers.facts.earlier import is_summary, parse_summaries
from compaction.summarizers.facts.lines import FactKind


def told(*summaries):
    """Return the facts of summaries by kind, without empty kinds."""
    return {sort: lines for sort, lines in parse_summaries(summaries).items() if lines}


@pytest.mark.parametrize(
    ("heading", "sort"),
    [
        ("## Goal", FactKind.GOAL),
        ("## Primary Request and Intent", FactKind.GOAL),
        ("## Objective", FactKind.GOAL),
        ("## Constraints & Preferences", FactKind.RULE),
        ("## User Preferences", FactKind.RULE),
        ("## Instructions", FactKind.RULE),
        ("### Done", FactKind.DONE),
        ("## Completed Work (steps 1 to 4)", FactKind.DONE),
        ("### In Progress", FactKind.DOING),
        ("1. Current Work:", FactKind.DOING),
        ("### Blocked", FactKind.FAILING),
        ("## Key Decisions Made", FactKind.DECISION),
        ("## Next Steps", FactKind.PLAN),
        ("8. Pending Tasks:", FactKind.PLAN),
        ("## Critical Context", FactKind.NOTE),
        ("6. All User Messages:", FactKind.REQUEST),
    ],
)
def test_a_line_is_what_the_words_of_its_heading_say(heading, sort):
    assert told(f"{heading}\n- it is so") == {sort: ["it is so"]}


@pytest.mark.parametrize("mark", ["- ", "* ", "  - ", "1. ", "12) ", "- [x] ", "- [ ] ", ""])
def test_marks_of_lists_are_left_out(mark):
    assert told(f"## Goal\n{mark}build it") == {FactKind.GOAL: ["build it"]}


def test_a_line_under_an_unknown_heading_is_a_note_that_begins_with_it():
    assert told("# Branch\n`refactor`\nof the parser") == {
        FactKind.NOTE: ["Branch: `refactor`", "of the parser"]
    }


def test_what_stands_under_no_heading_is_a_note():
    assert told("Tests were mended.") == {FactKind.NOTE: ["Tests were mended."]}


def test_a_deeper_heading_that_tells_something_is_a_line():
    said = "## Next Steps\n### Write the main module\n- copy it"
    assert told(said) == {FactKind.PLAN: ["Write the main module", "copy it"]}


@pytest.mark.parametrize(
    "nothing", ["none", "- none", "None.", "No prior history.", "---", "| --- | --- |", "", "```\nx = 1\n```"]
)
def test_what_says_nothing_is_left_out(nothing):
    assert told(f"## Goal\n{nothing}") == {}


def test_a_note_that_only_leads_to_others_is_left_out():
    assert told("## Critical Context\n**New files:**\n- a.ts is new") == {FactKind.NOTE: ["a.ts is new"]}


def test_a_rule_stays_though_it_ends_in_a_colon():
    assert told("## Instructions\n- then tackle this:") == {FactKind.RULE: ["then tackle this:"]}


def test_tags_of_files_are_left_out():
    said = (
        "## Goal\nbuild it\n\n<read-files>\na.ts\n</read-files>\n\n<modified-files>\nb.ts\n</modified-files>"
    )
    assert told(said) == {FactKind.GOAL: ["build it"]}


def test_files_by_folder_are_files_again():
    said = "## Critical Context\n- . is /repo/\n- ./src/: a.ts (changed), core/b.ts\n- docs/: c.md\n- files: d.ts"
    assert told(said) == {
        FactKind.CHANGED: ["/repo/src/a.ts"],
        FactKind.FILE: ["/repo/src/core/b.ts", "docs/c.md", "d.ts"],
    }


def test_names_are_names_again():
    assert told("## Critical Context\n- names: parseAll, Tree") == {FactKind.NAME: ["parseAll", "Tree"]}


def test_a_command_is_a_command_again_wherever_it_stands():
    lines = ["`make all`: ok", "`make test`: failed"]
    assert told("## Discoveries\n- " + "\n- ".join(lines)) == {FactKind.COMMAND: lines}


def test_an_error_is_an_error_again():
    line = "src/a.ts(1,2): error TS2304: Cannot find name 'x'. (3 times)"
    assert told(f"## Critical Context\n- {line}") == {FactKind.ERROR: [line]}


def test_an_open_question_is_one_again_wherever_it_stands():
    assert told("## Next Steps\n- open question: Which one?") == {
        FactKind.QUESTION: ["open question: Which one?"]
    }


def test_several_summaries_are_told_one_after_the_other():
    assert told("## Goal\nfirst", "## Goal\nsecond") == {FactKind.GOAL: ["first", "second"]}


def test_both_parts_of_a_split_turns_summary_are_read():
    said = "## Goal\nbuild it\n\n---\n\n**Turn Context (split turn):**\n\n## Original Request\nname it"
    assert told(said) == {FactKind.GOAL: ["build it", "name it"]}


def test_what_stands_word_for_word_before_a_turns_summary_is_a_request():
    said = "## Relevant files\nnone\n\n---\n\n**Turn Context (split turn):**\n\nname it well"
    assert told(said) == {FactKind.REQUEST: ["name it well"]}


def test_a_long_line_is_cut():
    (line,) = told("## Goal\n" + "x" * 1000)[FactKind.GOAL]
    assert len(line) == 600


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("# Notes\n\n## Next Steps\n- go on", True),
        ("## A title\nx", False),
        ("what is next", False),
        ("", False),
    ],
)
def test_a_summary_is_told_by_its_headings(text, is_one):
    assert is_summary(text) is is_one


@given(
    st.lists(
        st.sampled_from(
            ["#", " ", "- ", "\n", "`", ": ", "ok", "a/", ", ", "names", ". is /", "|", "<read-files>"]
        )
        | st.text(max_size=3),
        max_size=30,
    )
)
def test_whatever_a_text_says_its_lines_are_single(pieces):
    lines = [line for lines in parse_summaries(["".join(pieces)]).values() for line in lines]
    assert [line for line in lines if len(line.splitlines()) > 1] == []
