"""The sections of summaries: those that templates ask for, those that are there, and the summaries of split turns."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.templates import load_built_in
from eventstore.records import BranchSummary, Compaction
from projections.audit.session import audit
from projections.audit.summary_text import OUTLINES, Sections, sections
from tests.support.talk import user

NINE = [
    "Primary Request and Intent",
    "Key Technical Concepts",
    "Files and Code Sections",
    "Errors and fixes",
    "Problem Solving",
    "All user messages",
    "Pending Tasks",
    "Current Work",
    "Optional Next Step",
]
SPLIT = "\n\n---\n\n**Turn Context (split turn):**\n\n"
OF_REFOLD = ("compaction", "branch", "turn-prefix", "five-sections", "nine-sections")
_OUTLINE = {outline.template: outline for outline in OUTLINES}


def body(*lines):
    return "\n".join(f"{line}\nsome words" for line in lines)


@pytest.mark.parametrize("outline", OUTLINES, ids=lambda outline: outline.template)
def test_a_summary_with_all_headings_of_a_template_is_of_it_and_lacks_nothing(outline):
    found = sections(body(*outline.lines), kind=outline.kind)
    assert (found.template, found.missing, found.duplicated) == (outline.template, [], [])


@pytest.mark.parametrize("name", OF_REFOLD)
def test_what_refolds_own_templates_ask_for_is_looked_for(name):
    assert {f"## {section}" for section in load_built_in(name).sections} <= set(_OUTLINE[name].required)


def test_present_missing_and_duplicated_headings_are_reported_in_the_templates_order():
    found = sections(body("## Next Steps", "## Goal", "### Done", "## Goal", "## Else"))
    assert found == Sections(
        template="compaction",
        headings=["## Next Steps", "## Goal", "### Done", "## Goal", "## Else"],
        present=["Goal", "Done", "Next Steps"],
        missing=[
            "Constraints & Preferences",
            "Progress",
            "In Progress",
            "Blocked",
            "Key Decisions",
            "Critical Context",
        ],
        duplicated=["Goal"],
    )


@pytest.mark.parametrize(
    "line",
    ["#### Goal", "# Goal", "##Goal", "## Goals", "## goal", "## Goal:", "Goal", "text ## Goal", "> ## Goal"],
)
def test_a_heading_counts_by_its_exact_line(line):
    assert sections(f"## Next Steps\n{line}").present == ["Next Steps"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "  \n"])
def test_white_space_behind_a_heading_does_not_matter(ending):
    assert sections(f"## Goal{ending}x").present == ["Goal"]


def test_what_stands_in_fenced_code_is_no_heading():
    assert sections("## Goal\n```md\n## Goal\n## Next Steps\n```").headings == ["## Goal"]


def test_additional_notes_are_not_asked_for_but_count():
    found = sections(body(*_OUTLINE["compaction"].required))
    assert (found.missing, found.present[-1]) == ([], "Critical Context")
    assert sections("## Goal\n## Additional Notes").present == ["Goal", "Additional Notes"]


def test_claude_code_numbers_its_headings_and_writes_them_in_either_case():
    found = sections(body("Summary:", *(f"{number}. {name}:" for number, name in enumerate(NINE, 1))))
    assert (found.template, len(found.present), found.headings[3]) == (
        "claude-code",
        9,
        "4. Errors and fixes:",
    )


@pytest.mark.parametrize("line", ["1. Primary Request and Intent", "2. Primary Request and Intent:"])
def test_a_numbered_heading_has_its_number_and_its_colon(line):
    assert sections(line).template is None


def test_headings_of_no_known_template_leave_nothing_missing():
    assert sections("# Notes\n## Odd") == Sections(
        template=None, headings=["# Notes", "## Odd"], present=[], missing=[], duplicated=[]
    )


def test_of_templates_that_fit_alike_the_first_counts():
    assert sections("## Goal").template == "compaction"


def test_a_branchs_summary_is_held_against_a_branchs_template():
    summary = body(*_OUTLINE["branch"].required)
    assert [sections(summary, kind=kind).missing for kind in ("branch_summary", "compaction")] == [
        [],
        ["Critical Context"],
    ]


def test_a_split_turns_summary_is_that_of_the_history_and_that_of_the_turn():
    found = sections(body("## Goal") + SPLIT + body("## Original Request", "## Goal"))
    assert (found.template, found.present, found.headings, found.duplicated) == (
        "compaction + turn-prefix",
        ["Goal", "Original Request"],
        ["## Goal", "## Original Request", "## Goal"],
        [],
    )
    assert found.missing[-2:] == ["Early Progress", "Context for Suffix"]


def test_a_split_turn_without_history_is_held_against_the_turns_template_alone():
    found = sections("No prior history." + SPLIT + "## Original Request")
    assert (found.template, found.missing) == ("turn-prefix", ["Early Progress", "Context for Suffix"])


def test_a_turns_beginning_that_is_only_quoted_asks_for_nothing():
    found = sections(body("## Goal") + SPLIT + body("## Else"), template="five-sections", quotes_turn=True)
    assert (found.template, found.headings) == ("five-sections", ["## Goal"])


@pytest.mark.parametrize(
    ("asked", "template"),
    [
        (["five-sections"], "five-sections"),
        (["five-sections", "turn-prefix"], "five-sections + turn-prefix"),
        ([], "five-sections + turn-prefix"),
    ],
)
def test_an_audit_holds_a_turns_beginning_against_a_template_where_one_was_asked_for(story, asked, template):
    (said,) = story.says(user("go on"))
    summary = body(*_OUTLINE["five-sections"].required) + SPLIT + "Mend the parser, and then its tests."
    requests = {"requests": [{"template": name} for name in asked]} if asked else {}
    story.add(
        Compaction(
            summary=summary,
            first_kept_entry_id=said,
            tokens_before=9,
            template="five-sections@1",
            request=requests,
        )
    )
    (found,) = audit(story.log, "s").compactions
    assert found.metrics.sections.template == template


@pytest.fixture
def recorded(story):
    """From a summary, the templates of its requests and more of its record to what the audit says of its sections."""

    def found(summary, asked, *, missing=(), template=""):
        (said,) = story.says(user("go on"))
        request = {"requests": [{"template": name} for name in asked]}
        request |= {"missingSections": list(missing)} if missing else {}
        record = Compaction(
            summary=summary, first_kept_entry_id=said, tokens_before=9, template=template, request=request
        )
        story.add(record)
        return audit(story.log, "s").compactions[0].metrics.sections

    return found


def test_a_summary_by_a_template_of_ones_own_lacks_what_its_record_says_and_no_more(recorded):
    summary = body("## Goal", "## Rules") + SPLIT + body("## Original Request")
    found = recorded(summary, ["ours", "turn-prefix"], missing=["Early Progress"], template="ours@1")
    assert (found.template, found.present, found.missing) == (
        "ours + turn-prefix",
        ["Goal", "Rules", "Original Request"],
        ["Early Progress"],
    )


def test_a_summary_without_any_heading_lacks_all_that_its_record_says(recorded):
    found = recorded("just this", ["ours"], missing=["Goal", "Rules"], template="ours@1")
    assert (found.template, found.missing, found.fits) == ("ours", ["Goal", "Rules"], True)


def test_a_record_that_names_no_template_does_not_say_what_is_missing(recorded):
    assert not recorded("just this", [], missing=["Goal"]).is_recorded


def test_a_record_of_requests_that_tells_of_nothing_missing_says_that_nothing_is(recorded):
    found = recorded("## Goal\nship it", ["compaction", "short"], template="compaction@1")
    assert (found.template, found.missing, found.is_recorded) == ("compaction", [], True)


def test_where_only_a_turns_beginning_was_asked_for_history_has_no_template(recorded):
    summary = "No prior history." + SPLIT + "just this"
    found = recorded(summary, ["turn-prefix"], missing=["Early Progress"], template="compaction@1")
    assert (found.template, found.missing) == ("turn-prefix", ["Early Progress"])


def test_a_branchs_summary_is_of_the_template_that_its_first_request_names(story):
    (root, left) = story.says(user("root"), user("tried"))
    request = {"requests": [{"template": "mine"}], "missingSections": ["Goal"]}
    story.add(BranchSummary(from_id=root, summary="no good", left=left, request=request), parent=root)
    (found,) = audit(story.log, "s").branch_summaries
    assert (found.metrics.sections.template, found.metrics.sections.missing) == ("mine", ["Goal"])


@given(
    st.text()
    | st.text(alphabet="#` GoalDne\n")
    | st.lists(st.sampled_from([line for outline in OUTLINES for line in outline.lines])).map("\n".join)
)
def test_any_summary_has_each_section_of_its_template_or_lacks_it(summary):
    found = sections(summary)
    assert set(found.duplicated) <= set(found.present)
    if found.template is None:
        assert found.present == found.missing == []
    else:
        outline = _OUTLINE[found.template]
        assert len(found.present) + len(found.missing) <= len(outline.lines)
        assert len(found.present) + len(found.missing) >= len(outline.required)


def test_real_summaries_of_claude_code_have_all_nine_sections(corpus):
    lines = (corpus / "claude-code" / "6113e919-3auto.jsonl").read_bytes().splitlines()
    summaries = [
        record["message"]["content"] for record in map(json.loads, lines) if record.get("isCompactSummary")
    ]
    assert [(found.template, found.missing, found.duplicated) for found in map(sections, summaries)] == [
        ("claude-code", [], [])
    ] * 3


def test_a_real_summary_of_opencode_has_all_sections_of_its_template(corpus):
    export = json.loads((corpus / "opencode" / "k1-first-300-messages.json").read_bytes())
    (message,) = [each for each in export["messages"] if each["info"].get("summary") is True]
    found = sections("".join(part["text"] for part in message["parts"] if part["type"] == "text"))
    assert (found.template, found.missing) == ("opencode-goal", [])


def test_a_real_summary_in_a_form_of_its_own_lacks_most_of_what_pi_asks_for(corpus):
    lines = (corpus / "pi" / "pi-mono-before-compaction.v3.jsonl").read_bytes().splitlines()
    records = [record for record in map(json.loads, lines) if record["type"] == "compaction"]
    assert [sections(record["summary"]).present for record in records] == [["Goal"], ["Goal", "Next Steps"]]


def test_a_template_fits_if_a_third_of_its_sections_are_there():
    assert [sections(f"## Goal\n{more}").fits for more in ("", "## Progress\n## Key Decisions")] == [
        False,
        True,
    ]


def test_the_template_that_a_record_names_is_the_one():
    named = sections("## Goal", template="five-sections")
    assert (named.template, named.missing) == (
        "five-sections",
        ["Instructions", "Discoveries", "Accomplished", "Relevant files"],
    )
