"""Report parts of a policy that have no effect or cannot be meant."""

from __future__ import annotations

import pytest

from compaction.part import Limits
from compaction.policy.load import load_preset, preset_names
from compaction.policy.model import Prompting
from compaction.policy.validate import find_missing_names, find_missing_templates, policy_warnings
from compaction.summarizers.registry import SUMMARIZERS
from compaction.templates import folder_source
from compaction.triggers import Threshold
from tests.compaction.scripted import policy
from tests.support import sentences

LIMITS = Limits(window=200_000)
OURS = "+++\nname = 'ours'\nversion = 1\nsections = []\n+++\nSum up.\n"


@pytest.mark.parametrize("name", preset_names())
def test_presets_can_be_meant(name):
    assert policy_warnings(load_preset(name), limits=LIMITS) == []


def test_a_trigger_that_always_fires_is_reported_with_the_window():
    always = policy(trigger=Threshold(reserve=200_000))
    (told_of,) = policy_warnings(always, limits=LIMITS)
    assert sentences.numbers(told_of) == [200_000]
    assert policy_warnings(always, limits=Limits(window=300_000)) == []


def test_a_cut_that_keeps_more_than_what_is_too_large_is_reported():
    (told_of,) = policy_warnings(load_preset("pi"), limits=Limits(window=36_384))
    assert sentences.numbers(told_of) == [36_384, 20_000, 20_000]
    assert policy_warnings(load_preset("pi"), limits=Limits(window=36_385)) == []


@pytest.mark.parametrize("name", ["layered", "mask", "opencode"])
def test_a_small_window_is_none_of_the_matter_where_little_or_nothing_is_kept(name):
    assert policy_warnings(load_preset(name), limits=Limits(window=16_000)) == []


@pytest.mark.parametrize("name", preset_names())
def test_presets_name_what_there_is(name):
    assert find_missing_names(load_preset(name).prompting) == []


def test_each_template_that_is_not_there_is_reported_by_its_key_with_those_that_are(tmp_path):
    (tmp_path / "mine.md").write_text(OURS.replace("ours", "mine"))
    first, second = find_missing_names(
        Prompting(template="ours", update="", short="shorter"), [folder_source(tmp_path)]
    )
    there_are = ["branch", "compaction", "compaction-update", "five-sections", "handoff", "mine"]
    there_are += ["nine-sections", "short", "system", "turn-prefix"]
    assert (first.where, second.where) == ("[prompting] template", "[prompting] short")
    assert sentences.names(first.problem, ["ours"]) == ["ours"]
    assert sentences.names(first.remedy, there_are) == there_are
    assert sentences.names(second.problem, ["shorter"]) == ["shorter"]


def test_a_persons_own_templates_are_there(tmp_path):
    (tmp_path / "ours.md").write_text(OURS)
    assert find_missing_names(Prompting(template="ours"), [folder_source(tmp_path)]) == []


def test_a_template_that_is_broken_is_reported_by_its_file(tmp_path):
    (tmp_path / "ours.md").write_text("Sum up.")
    (fault,) = find_missing_names(Prompting(template="ours"), [folder_source(tmp_path)])
    assert fault.where == "[prompting] template"
    assert str(tmp_path / "ours.md") in fault.problem


def test_the_system_prompts_template_is_looked_at_too(tmp_path):
    (tmp_path / "system.md").write_text("Sum up.")
    (fault,) = find_missing_names(Prompting(), [folder_source(tmp_path)])
    assert fault.where == ""
    assert str(tmp_path / "system.md") in fault.problem


def test_of_a_template_that_is_broken_all_is_reported(tmp_path):
    (tmp_path / "ours.md").write_text(
        OURS.replace("version = 1", "version = 0").replace("sections", "section")
    )
    version, section = find_missing_names(Prompting(template="ours"), [folder_source(tmp_path)])
    assert version.where == section.where == "[prompting] template"
    assert version.problem.startswith(f"template {tmp_path / 'ours.md'}: version: ")
    assert section.problem.startswith(f"template {tmp_path / 'ours.md'}: section: ")
    assert (sentences.numbers(version.remedy), sentences.names(section.remedy, ["sections"])) == (
        [1],
        ["sections"],
    )


def test_a_template_that_a_person_names_stands_in_for_those_of_whole_summaries_only():
    asks = Prompting(template="a", update="b", turn_prefix="c", short="d")
    found = [fault.where for fault in find_missing_templates(asks, [], instead="compaction")]
    assert found == ["[prompting] turn_prefix", "[prompting] short"]


def test_a_summarizer_that_is_not_there_is_reported():
    (fault,) = find_missing_names(Prompting(summarizer="nobody"))
    assert (fault.where, "'nobody'" in fault.problem) == ("[prompting] summarizer", True)
    assert sentences.names(fault.remedy, SUMMARIZERS) == [
        "anthropic",
        "command",
        "extractive",
        "http",
        "openai",
        "recorded",
    ]
