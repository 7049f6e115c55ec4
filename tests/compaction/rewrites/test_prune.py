"""oh-my-pi's prune: the newest 40,000 tokens are safe, less than 20,000 saved is not worth it."""

from __future__ import annotations

from compaction.rewrites import Prune
from tests.compaction.rewrites.contexts import calls, planned, why_nothing
from tests.support import sentences


def test_results_behind_the_newest_40_000_tokens_are_cut_with_their_size(story):
    old, *_ = calls(story, 25_000, 30_000, 10_000)
    assert planned(story, Prune()) == {old: "[Output truncated - 25000 tokens]"}


def test_a_result_that_begins_inside_the_newest_40_000_is_safe(story):
    calls(story, 90_000, 39_999)
    assert planned(story, Prune()) == {}


def test_savings_under_20_000_leave_everything(story):
    calls(story, 20_008, 40_000)
    assert planned(story, Prune()) == {}


def test_savings_of_20_000_are_enough(story):
    old, _ = calls(story, 20_009, 40_000)
    assert list(planned(story, Prune())) == [old]


def test_savings_are_less_the_notice_rounded_up(story):
    calls(story, 500, 40_000)
    saved = 500 - -(-len("[Output truncated - 500 tokens]") // 4)
    assert planned(story, Prune(savings=saved)) != {}
    assert planned(story, Prune(savings=saved + 1)) == {}


def test_results_under_50_tokens_stay(story):
    small, old, _ = calls(story, 49, 30_000, 40_000)
    assert small not in planned(story, Prune())
    assert old in planned(story, Prune())


def test_reads_and_skills_are_protected(story):
    calls(story, 30_000, tool="read", path="a.py")
    calls(story, 30_000, tool="skill")
    calls(story, 40_000)
    assert planned(story, Prune()) == {}


def test_protection_of_some_paths_of_a_tool_leaves_the_others(story):
    (skill,) = calls(story, 30_000, tool="read", path="skill://deploy")
    (file,) = calls(story, 30_000, tool="read", path="a.py")
    calls(story, 40_000)
    assert list(planned(story, Prune(protected=("skill", "read skill://")))) == [file]
    assert skill != file


def test_protected_results_add_to_the_newest_40_000(story):
    (old,) = calls(story, 30_000)
    calls(story, 40_000, tool="read", path="a.py")
    assert list(planned(story, Prune())) == [old]


def test_candidates_are_told_oldest_first(story):
    one, two, _ = calls(story, 30_000, 30_000, 40_000)
    assert list(planned(story, Prune())) == [one, two]


def test_little_to_save_is_reported_with_how_little(story):
    calls(story, 10_009, 40_000)
    assert sentences.numbers(why_nothing(story, Prune())) == [10_000, 20_000]


def test_results_that_are_all_safe_are_reported(story):
    calls(story, 40_000)
    assert sentences.numbers(why_nothing(story, Prune())) == [40_000]


TOOLS = ["skill", "read", "bash"]


def test_protected_tools_are_reported_by_their_names(story):
    calls(story, 90_000, 40_000, tool="read")
    assert sentences.names(why_nothing(story, Prune()), TOOLS) == ["skill", "read"]
    calls(story, 90_000)
    why = why_nothing(story, Prune(smallest=100_000, protected=()))
    assert (sentences.names(why, TOOLS), sentences.numbers(why)) == ([], [100_000])
