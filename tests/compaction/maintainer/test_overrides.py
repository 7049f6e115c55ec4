"""Override a policy with a person's own settings."""

from __future__ import annotations

import msgspec
import pytest

from compaction.cuts import KeepRecent, OhMyPiRecent, OpencodeTail
from compaction.maintainer import Settings
from compaction.part import Limits
from compaction.policy.load import load_preset, preset_names
from compaction.summarizers.chain import SummarizerChain
from compaction.triggers import Threshold, TriggerPart
from tests.compaction.scripted import Scripted, policy

WINDOW = Limits(window=200_000)


def threshold(name, **settings):
    return Settings(**settings).applied_to(load_preset(name)).trigger.threshold(WINDOW)


@pytest.mark.parametrize("name", preset_names())
def test_where_nothing_is_set_a_policy_stays_as_it_is(name):
    assert Settings().applied_to(load_preset(name)) == load_preset(name)


@pytest.mark.parametrize("name", preset_names())
def test_a_threshold_that_is_set_leads_over_the_policys(name):
    assert threshold(name, threshold_tokens=50_000) == 50_000
    assert threshold(name, threshold_percent=80) == 160_000


def test_tokens_lead_over_percent():
    assert threshold("pi", threshold_tokens=50_000, threshold_percent=80) == 50_000


def test_percent_that_are_set_lead_over_tokens_of_the_policy():
    changed = Settings(threshold_percent=80).applied_to(policy(trigger=Threshold(tokens=50)))
    assert changed.trigger.threshold(WINDOW) == 160_000


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"threshold_tokens": 1}, 1),
        ({"threshold_tokens": 300_000}, 199_999),
        ({"threshold_percent": 1}, 2_000),
        ({"threshold_percent": 100}, 198_000),
        ({"threshold_tokens": -1, "threshold_percent": -1}, 183_616),
        ({"threshold_tokens": 0, "threshold_percent": 0}, 183_616),
    ],
)
def test_thresholds_are_clamped_to_the_window_and_to_1_to_99_percent(settings, expected):
    assert threshold("pi", **settings) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("pi", 150_000), ("oh-my-pi", 150_000), ("opencode", 150_000), ("layered", 117_000)],
)
def test_a_reserve_that_is_set_stays_free(name, expected):
    assert threshold(name, reserve_tokens=50_000) == expected


class Ever(TriggerPart, frozen=True, tag="ever"):
    def threshold(self, limits):
        del limits
        return 0


@pytest.mark.parametrize(
    ("settings", "expected"), [({"threshold_tokens": 9}, 9), ({"threshold_percent": 80}, 160_000)]
)
def test_a_threshold_that_is_set_takes_the_place_of_a_trigger_without_one(settings, expected):
    changed = Settings(**settings).applied_to(policy(trigger=Ever())).trigger
    assert changed.threshold(WINDOW) == expected


@pytest.mark.parametrize("name", ["opencode", "layered"])
def test_a_reserve_that_is_set_gives_no_way(name):
    set_so = Settings(reserve_tokens=16_000).applied_to(load_preset(name)).trigger
    assert set_so.leaves_nothing(Limits(window=16_000))


def test_a_reserve_that_is_set_bounds_answers_too():
    assert Settings(reserve_tokens=1_000).applied_to(load_preset("pi")).prompting.reserve == 1_000


def test_a_reserve_that_is_set_is_what_opencodes_tail_leaves_free():
    cut = Settings(reserve_tokens=1_000).applied_to(load_preset("opencode")).cut
    assert isinstance(cut, OpencodeTail)
    assert cut.reserved == 1_000


def test_tokens_to_keep_are_kept_as_the_policy_adapts_them():
    assert Settings(keep_recent_tokens=99).applied_to(load_preset("oh-my-pi")).cut == OhMyPiRecent(tokens=99)


def test_tokens_to_keep_are_the_tail_of_a_policy_that_keeps_turns():
    cut = Settings(keep_recent_tokens=99).applied_to(load_preset("opencode")).cut
    assert isinstance(cut, OpencodeTail)
    assert cut.budget(Limits(window=200_000)) == 99


def test_tokens_to_keep_take_the_place_of_a_number_of_messages():
    assert Settings(keep_recent_tokens=99).applied_to(load_preset("layered")).cut == KeepRecent(tokens=99)


def test_a_policy_without_a_cut_stays_without():
    assert Settings(keep_recent_tokens=99).applied_to(load_preset("mask")).cut is None


def asked(**settings):
    chain = SummarizerChain(summarizers=[Scripted()])
    return [each.name for each in Settings(**settings).with_remote_summarizer(chain).summarizers]


def test_a_service_that_is_set_is_asked_first():
    assert asked(remote_endpoint="http://127.0.0.1:1/sum") == ["http", "scripted"]


@pytest.mark.parametrize(
    "settings", [{}, {"remote_endpoint": ""}, {"remote_endpoint": "http://x/", "remote_enabled": False}]
)
def test_without_an_endpoint_or_where_that_is_off_nobody_else_is_asked(settings):
    assert asked(**settings) == ["scripted"]


def test_settings_have_oh_my_pis_defaults():
    assert msgspec.to_builtins(Settings()) == {
        "enabled": True,
        "strategy": "context-full",
        "reserve_tokens": None,
        "keep_recent_tokens": None,
        "threshold_percent": -1,
        "threshold_tokens": -1,
        "auto_continue": True,
        "remote_enabled": True,
        "remote_endpoint": None,
        "idle_enabled": False,
        "idle_threshold_tokens": 200_000,
        "idle_timeout_seconds": 300,
        "most_failures": 3,
        "subtracts_savings": True,
        "promotion": None,
        "branch_summary": {"enabled": False, "reserve_tokens": None},
    }


def test_what_is_not_set_is_16384_and_20000_by_oh_my_pis_own_policy():
    own = load_preset("oh-my-pi")
    assert own.trigger.threshold(Limits(window=100_000)) == 100_000 - 16_384
    assert (own.prompting.reserve, own.cut) == (16_384, OhMyPiRecent(tokens=20_000))
