"""What a policy says that cannot be meant."""

from __future__ import annotations

import pytest

from compaction.part import Limits
from compaction.policies import Prompting, parse, preset, preset_names, warnings
from compaction.templates import from_folder
from compaction.trigger import Trigger
from tests.compaction.scripted import policy

LIMITS = Limits(window=200_000)


@pytest.mark.parametrize("name", preset_names())
def test_presets_can_be_meant(name):
    assert warnings(preset(name), limits=LIMITS) == []


def test_a_trigger_that_always_fires_is_told_with_the_window():
    always = policy(trigger=Trigger(reserve=200_000))
    assert warnings(always, limits=LIMITS) == [
        "for a window of 200,000 tokens every context is too large: see its trigger"
    ]
    assert warnings(always, limits=Limits(window=300_000)) == []


def test_each_template_that_is_not_there_is_told():
    asks = policy(prompting=Prompting(template="ours", update="", short="shorter"))
    assert warnings(asks, limits=LIMITS) == [
        "there is no template 'ours': see 'refold templates'",
        "there is no template 'shorter': see 'refold templates'",
    ]


def test_a_persons_own_templates_are_there(tmp_path):
    (tmp_path / "ours.md").write_text("+++\nname = 'ours'\nversion = 1\nsections = []\n+++\nSum up.\n")
    asks = parse('name = "mine"\n[prompting]\ntemplate = "ours"\n', source="here")
    assert warnings(asks, [from_folder(tmp_path)], limits=LIMITS) == []


def test_a_summarizer_that_is_not_there_is_told():
    mine = parse('name = "mine"\n[prompting]\nsummarizer = "nobody"\n', source="here")
    told = "there is no summarizer 'nobody'; there are: anthropic, extractive, http, recorded"
    assert warnings(mine, limits=LIMITS) == [told]
