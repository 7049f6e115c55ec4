"""Kinds: their codes on disk never change, and unknown ones are entries."""

from __future__ import annotations

import pytest

from eventstore.kinds import CODE_OF_KIND, OFF_PATH, is_entry, kind_of_code
from eventstore.records import RECORDS


def test_the_codes_on_disk_are_those_that_were_fixed() -> None:
    fixed = (
        "message model_change thinking_level_change compaction branch_summary custom_message custom rewrite"
        " leaf_moved undone reset_boundary label session_info decision attempt repair import link redaction"
        " observed_rewrite note"
    )
    assert list(CODE_OF_KIND.items())[:21] == [(kind, code) for code, kind in enumerate(fixed.split(), 1)]


@pytest.mark.parametrize("kind", CODE_OF_KIND)
def test_a_code_stands_for_its_kind(kind: str) -> None:
    assert kind_of_code(CODE_OF_KIND[kind]) == kind


def test_code_0_stands_for_a_kind_that_names_itself() -> None:
    assert kind_of_code(0) == ""


@pytest.mark.parametrize(
    "kind", ["message", "rewrite", "leaf_moved", "undone", "label", "custom", "who:knows", ""]
)
def test_unknown_kinds_and_those_of_the_tree_are_entries(kind: str) -> None:
    assert is_entry(kind)


@pytest.mark.parametrize("kind", sorted(OFF_PATH))
def test_kinds_that_tell_about_a_session_are_no_entries(kind: str) -> None:
    assert not is_entry(kind)


def test_every_kind_has_a_record_and_a_code_and_codes_of_former_kinds_are_not_given_again() -> None:
    assert set(CODE_OF_KIND) - set(RECORDS) == {"reset_boundary", "repair", "redaction"}
    assert set(RECORDS) < set(CODE_OF_KIND)
