"""A template's file: what is read of it, what is wrong with it, and what an answer to it lacks."""

from __future__ import annotations

import contextlib
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.templates import missing_sections, parse_template, replace_text
from compaction.validation import InvalidInputError
from eventstore.errors import BadInputError, RefoldError
from tests.support import sentences

FILE = """+++
name = "mine"
version = 3
sections = ["Goal", "Next Steps"]
strip = "analysis"
+++

Sum it up.

## Goal
## Next Steps
"""
WANTED = ["name", "whole", "number", "1", "sections", "list", "heading", "tag"]


def refusal(text):
    with pytest.raises(BadInputError) as raised:
        parse_template(text, source="mine.md")
    assert raised.value.source == "template mine.md"
    assert "\n" not in str(raised.value)
    return raised.value


# Files


def test_the_front_matter_says_name_version_sections_and_what_is_stripped():
    template = parse_template(FILE, source="mine.md")
    assert (template.name, template.version) == ("mine", 3)
    assert (template.sections, template.strip) == (("Goal", "Next Steps"), "analysis")


def test_the_prompt_is_what_stands_behind_it():
    assert parse_template(FILE, source="x").text == "Sum it up.\n\n## Goal\n## Next Steps"


def test_the_digest_is_that_of_the_whole_file():
    assert parse_template(FILE, source="x").digest == hashlib.sha256(FILE.encode()).hexdigest()


def test_the_source_is_kept():
    assert parse_template(FILE, source="mine.md").source == "mine.md"


def test_sections_and_strip_may_be_left_out():
    template = parse_template('+++\nname = "mine"\nversion = 1\n+++\nSum it up.', source="x")
    assert (template.sections, template.strip) == ((), "")


@pytest.mark.parametrize(
    "file", ["\ufeff" + FILE, FILE.replace("\n", "\r\n"), FILE.replace("+++\n", "+++ \n")]
)
def test_files_of_other_editors_are_read_alike(file):
    template = parse_template(file, source="x")
    assert template.text == parse_template(FILE, source="x").text
    assert template.sections == ("Goal", "Next Steps")


def test_a_prompt_may_hold_a_line_of_plus_signs():
    assert parse_template(FILE + "+++\nmore\n", source="x").text.endswith("+++\nmore")


def test_a_prompt_of_somebody_elses_has_its_own_digest():
    template = replace_text(parse_template(FILE, source="x"), "Otherwise.", source="hook")
    assert (template.name, template.text, template.source) == ("mine", "Otherwise.", "hook")
    assert template.digest == hashlib.sha256(b"Otherwise.").hexdigest()


# Errors: one line each


@pytest.mark.parametrize("text", ["Sum it up.", '+++\nname = "mine"\nSum it up.'], ids=["none", "no end"])
def test_a_file_without_front_matter_between_its_two_lines(text):
    assert sentences.names(refusal(text).remedy, ["TOML", "two"]) == ["TOML", "two"]


def test_a_file_without_a_prompt():
    assert "TOML" not in refusal('+++\nname = "mine"\nversion = 1\n+++\n \n').remedy


@pytest.mark.parametrize("name", ["mine", "[" * 5_000])
def test_front_matter_that_is_no_toml(name):
    assert not isinstance(refusal(f"+++\nname = {name}\n+++\nSum it up."), InvalidInputError)


@pytest.mark.parametrize(
    ("front", "where", "value", "wanted"),
    [
        ("version = 1", "name", "", ["name"]),
        ('name = "mine"', "version", "", ["whole", "number", "1"]),
        ('name = "mine"\nversion = "1"', "version", "'1'", ["whole", "number", "1"]),
        ('name = "mine"\nversion = 1\nsection = ["Goal"]', "section", "", ["sections"]),
        ('name = "mine"\nversion = 1\nsections = "Goal"', "sections", "'Goal'", ["list"]),
        ('name = ""\nversion = 1', "name", "''", ["name"]),
        ('name = "mine"\nversion = 0', "version", "0", ["whole", "number", "1"]),
        (
            'name = "mine"\nversion = 1\nsections = ["## Goal"]',
            "sections, number 1",
            "'## Goal'",
            ["heading"],
        ),
        ('name = "mine"\nversion = 1\nsections = [""]', "sections, number 1", "''", ["heading"]),
        ('name = "mine"\nversion = 1\nsections = ["a\\nb"]', "sections, number 1", r"'a\nb'", ["heading"]),
        ('name = "mine"\nversion = 1\nsections = ["Goal "]', "sections, number 1", "'Goal '", ["heading"]),
        ('name = "mine"\nversion = 1\nstrip = "<analysis>"', "strip", "'<analysis>'", ["name", "tag"]),
        ('name = "mine"\nversion = 1\nstrip = "a.*"', "strip", "'a.*'", ["name", "tag"]),
    ],
)
def test_each_mistake_in_the_front_matter_says_where_it_is_and_what_is_wanted(front, where, value, wanted):
    (fault,) = refusal(f"+++\n{front}\n+++\nSum it up.").issues
    assert (fault.where, value in fault.problem) == (where, True)
    assert sentences.names(fault.remedy, WANTED) == wanted


def test_all_mistakes_in_the_front_matter_are_reported_a_line_each():
    with pytest.raises(RefoldError) as raised:
        parse_template(
            '+++\nname = " "\nversion = 0\nsections = ["a", "#"]\nstrip = 1\n+++\nSum it up.',
            source="mine.md",
        )
    assert [line.split(": ")[1] for line in raised.value.lines] == [
        "name",
        "version",
        "sections, number 2",
        "strip",
    ]


@given(st.text())
def test_any_text_is_a_template_or_an_error_of_refolds(text):
    with contextlib.suppress(BadInputError):
        assert parse_template(text, source="x").text


# Sections


def test_a_heading_counts_by_its_exact_line():
    assert missing_sections("## Goal\nx\n## Next Steps", ["Goal", "Next Steps"]) == []


def test_anything_like_a_heading_is_another():
    rows = [
        "#### Goal",
        "# Goal",
        "##Goal",
        "## goal",
        "## Goal:",
        "## Goals",
        "**Goal**",
        " ## Goal",
        "x ## Goal",
    ]
    assert {line: missing_sections(line, ["Goal"]) for line in rows} == {key: ["Goal"] for key in rows}


def test_white_space_behind_a_heading_does_not_matter():
    assert missing_sections("## Goal  \r\nx", ["Goal"]) == []


def test_missing_sections_are_reported_in_the_order_of_the_template():
    assert missing_sections("## B", ["C", "B", "A"]) == ["C", "A"]
