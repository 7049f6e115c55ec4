"""Stale reads: by newer reads of the same file, whole or the same range."""

from __future__ import annotations

import pytest

from compaction.rewrites import SUPERSEDED, Supersede
from compaction.sized_context import WARM
from tests.compaction.rewrites.contexts import calls, planned, why_nothing


def reads(story, path, **how):
    return calls(story, 100, tool="read", path=path, **how)[0]


def test_a_newer_read_of_the_file_makes_the_older_one_stale(story):
    old = reads(story, "a.py")
    reads(story, "a.py")
    assert planned(story, Supersede()) == {old: SUPERSEDED}


def test_a_newer_whole_read_makes_reads_of_ranges_stale(story):
    old = reads(story, "a.py:50-200")
    reads(story, "a.py")
    assert list(planned(story, Supersede())) == [old]


def test_a_newer_read_of_a_range_makes_no_whole_read_stale(story):
    reads(story, "a.py")
    reads(story, "a.py:50-200")
    assert planned(story, Supersede()) == {}


@pytest.mark.parametrize(("first", "second", "stale"), [("1-9", "1-9", 1), ("1-9", "2-9", 0)])
def test_a_read_of_a_range_makes_reads_of_the_same_range_stale(story, first, second, stale):
    reads(story, f"a.py:{first}")
    reads(story, f"a.py:{second}")
    assert len(planned(story, Supersede())) == stale


def test_ranges_given_as_arguments_are_ranges(story):
    old = reads(story, "a.py", offset=10, limit=5)
    reads(story, "a.py", offset=20, limit=5)
    reads(story, "a.py", offset=10, limit=5)
    assert list(planned(story, Supersede())) == [old]


def test_a_read_that_failed_makes_none_stale_though_a_document_counts_it(story):
    reads(story, "a.py")
    reads(story, "a.py", is_error=True)
    assert planned(story, Supersede()) == {}


def test_addresses_with_a_scheme_are_no_files(story):
    reads(story, "skill://a")
    reads(story, "skill://a")
    assert planned(story, Supersede()) == {}


def test_a_warm_prompt_cache_is_spared(story):
    reads(story, "a.py")
    reads(story, "a.py")
    calls(story, 8_001)
    assert planned(story, Supersede()) == {}


def test_a_cold_prompt_cache_needs_no_sparing(story):
    reads(story, "a.py")
    reads(story, "a.py")
    calls(story, 8_001)
    assert len(planned(story, Supersede(), idle=300_001)) == 1


def test_a_compaction_loses_the_prompt_cache_in_any_case(story):
    reads(story, "a.py")
    reads(story, "a.py")
    calls(story, 8_001)
    assert len(planned(story, Supersede(), is_compacting=True)) == 1


def test_it_says_why_it_finds_nothing(story):
    reads(story, "a.py")
    assert why_nothing(story, Supersede()) != WARM


def test_a_cache_that_is_spared_is_reported(story):
    reads(story, "a.py")
    reads(story, "a.py")
    calls(story, 9_000)
    assert why_nothing(story, Supersede()) == WARM
