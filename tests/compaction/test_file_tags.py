"""File operations at the end of a summary."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.file_tags import with_file_tags
from eventstore.records import FileOperations
from tests.support.growth import NO_SQUARE, times_as_long

READ = "<read-files>\na.py\n</read-files>"
MODIFIED = "<modified-files>\nb.py\n</modified-files>"


def files(read=(), modified=()):
    return FileOperations(read_files=list(read), modified_files=list(modified))


def test_both_tags_stand_behind_the_summary_with_a_path_a_line():
    assert with_file_tags("all of it", files(["a.py", "c d.py"], ["b.py"])) == (
        "all of it\n\n<read-files>\na.py\nc d.py\n</read-files>\n\n<modified-files>\nb.py\n</modified-files>"
    )


@pytest.mark.parametrize(
    ("touched", "tags"),
    [
        (files(), ""),
        (files(["a.py"]), f"\n\n{READ}"),
        (files(modified=["b.py"]), f"\n\n{MODIFIED}"),
    ],
)
def test_a_tag_without_paths_is_left_out(touched, tags):
    assert with_file_tags("all of it", touched) == f"all of it{tags}"


@pytest.mark.parametrize(
    "older", [READ, MODIFIED, f"{READ}\n\n{MODIFIED}", f"{MODIFIED}\n{READ}", f"{READ}\n\n{READ}"]
)
def test_tags_that_are_there_already_are_replaced(older):
    assert with_file_tags(f"all of it\n\n{older}\n", files(["c.py"])) == (
        "all of it\n\n<read-files>\nc.py\n</read-files>"
    )


def test_tags_are_replaced_where_there_are_no_files_any_more():
    assert with_file_tags(f"all of it\n\n{READ}\n\n{MODIFIED}", files()) == "all of it"


def test_tags_without_a_path_are_replaced_too():
    assert with_file_tags("all of it\n\n<read-files>\n</read-files>", files()) == "all of it"


def test_what_stands_between_a_tag_without_a_path_and_the_next_stays():
    empty = "<read-files>\n</read-files>"
    assert with_file_tags(f"one\n\n{empty}\n\ntwo\n\n{READ}", files()) == "one\n\ntwo"


def test_a_tag_that_never_closes_hides_no_other():
    assert with_file_tags(f"<read-files>\none\n\n{MODIFIED}", files()) == "<read-files>\none"


@pytest.mark.slow
@pytest.mark.parametrize("said", ["<read-files>\n", "<read-files>\n<modified-files>\n", "\n\n<read-files>"])
def test_tags_that_never_close_cost_time_in_proportion_to_the_text(said):
    def tagged(text):
        return with_file_tags(text, files())

    assert tagged(said * 80_000) == (said * 80_000).rstrip()
    assert times_as_long(tagged, said * 10_000, said * 80_000) < NO_SQUARE


def test_what_stands_behind_older_tags_stays():
    assert with_file_tags(f"one\n\n{READ}\n\ntwo", files()) == "one\n\ntwo"


def test_setting_tags_again_changes_nothing():
    once = with_file_tags("all of it", files(["a.py"], ["b.py"]))
    assert with_file_tags(once, files(["a.py"], ["b.py"])) == once


def test_a_summary_that_speaks_of_the_tags_is_left_alone():
    said = "the <read-files> tag lists files; </read-files> ends it"
    assert with_file_tags(said, files()) == said


def test_blank_lines_at_the_end_of_a_summary_go():
    assert with_file_tags("all of it \n\n", files()) == "all of it"


WILD = st.text() | st.sampled_from(
    ["\n</read-files>\n", "</summary>", "</ Summary >", "</prior-conversation-summary>"]
)
WILD_TEXT = st.lists(WILD, min_size=1).map("".join)


@given(summary=WILD_TEXT, path=WILD_TEXT)
def test_nothing_in_a_summary_or_a_path_closes_the_tag_around_the_summary(summary, path):
    told = with_file_tags(summary, files([path]))
    assert not re.search(r"<\s*/\s*(prior-conversation-)?summary\b", told, re.IGNORECASE)


@given(path=WILD_TEXT)
def test_nothing_in_a_path_closes_the_tag_around_the_paths(path):
    told = with_file_tags("", files([path]))
    assert (told.count("</read-files>"), told.strip().count("\n")) == (1, 2)
