"""Policies by name: presets, and a person's own."""

from __future__ import annotations

import pytest

from compaction.cuts import (
    KeepRecent,
    LastMessages,
    NewestAnswer,
    NewestRequests,
    OhMyPiRecent,
    OpencodeTail,
    Pi87Recent,
    PiRecent,
)
from compaction.part import Limits
from compaction.policy.load import find_policy, load_preset, preset_names, preset_text
from compaction.rewrites import Mask, Micro, Offload, Prune, PruneTurns, Snip, Supersede, Useless
from eventstore.errors import BadInputError, NotFoundError
from tests.support import sentences

LIMITS = Limits(window=200_000, output=64_000)


PRESETS = [
    "claude-code-2.1",
    "codex-0.169",
    "layered",
    "mask",
    "oh-my-pi",
    "oh-my-pi-18",
    "opencode",
    "opencode-1.18",
    "pi",
    "pi-0.87",
    "refold",
]


def test_these_are_the_presets():
    assert preset_names() == PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_short_file(name):
    assert len(preset_text(name).splitlines()) <= 40


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_has_the_name_of_its_file_and_says_what_it_does(name):
    assert (load_preset(name).name, bool(load_preset(name).description)) == (name, True)


@pytest.mark.parametrize(
    ("name", "threshold", "counter"),
    [
        ("oh-my-pi", 170_000, "bytes/4"),
        ("pi", 183_616, "utf16/4"),
        ("refold", 183_616, "utf16/4"),
        ("opencode", 180_000, "utf16/4"),
        ("layered", 167_000, "o200k"),
        ("mask", 170_000, "o200k"),
        ("claude-code-2.1", 167_000, "utf16/4"),
        ("codex-0.169", 180_000, "bytes/4"),
        ("oh-my-pi-18", 170_000, "bytes/4"),
        ("opencode-1.18", 168_000, "utf16/4"),
        ("pi-0.87", 183_616, "utf16/4"),
    ],
)
def test_presets_trigger_and_count_as_their_harnesses_do(name, threshold, counter):
    assert (load_preset(name).trigger.threshold(LIMITS), load_preset(name).counter) == (threshold, counter)


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("oh-my-pi", OhMyPiRecent(tokens=20_000)),
        ("pi", PiRecent(tokens=20_000)),
        ("refold", KeepRecent(tokens=20_000)),
        ("opencode", OpencodeTail(turns=2, share=0.25, least=2_000, most=8_000)),
        ("layered", LastMessages(messages=0)),
        ("mask", None),
        ("claude-code-2.1", NewestAnswer()),
        ("codex-0.169", NewestRequests(tokens=20_000)),
        ("oh-my-pi-18", OhMyPiRecent(tokens=20_000)),
        (
            "opencode-1.18",
            OpencodeTail(turns=1_000_000, share=0.25, least=2_000, most=15_000, reserved=0, output=32_000),
        ),
        ("pi-0.87", Pi87Recent(tokens=20_000)),
    ],
)
def test_presets_cut_as_their_harnesses_do(name, cut):
    assert load_preset(name).cut == cut


@pytest.mark.parametrize(
    ("name", "rewrites"),
    [
        ("oh-my-pi", [Supersede, Useless, Prune]),
        ("pi", []),
        ("refold", []),
        ("opencode", [PruneTurns]),
        ("layered", [Offload, Snip, Micro]),
        ("mask", [Mask]),
        ("claude-code-2.1", []),
        ("codex-0.169", []),
        ("oh-my-pi-18", [Supersede, Useless, Prune]),
        ("opencode-1.18", []),
        ("pi-0.87", []),
    ],
)
def test_presets_rewrite_in_the_order_of_their_harnesses(name, rewrites):
    assert [type(part) for part in load_preset(name).rewrites] == rewrites


def test_layered_saves_large_results_before_micro_would_blank_them():
    kinds = [type(part) for part in load_preset("layered").rewrites]
    assert kinds.index(Offload) < kinds.index(Micro)


def test_layered_keeps_the_last_five_messages_after_a_refused_request():
    assert load_preset("layered").recovery == LastMessages(messages=5)


def test_mask_asks_no_model():
    assert load_preset("mask").cut is None


def test_a_policy_that_is_not_there_is_reported_with_those_that_are():
    with pytest.raises(NotFoundError) as refused:
        load_preset("ohmypi")
    listed, _, meant = refused.value.remedy.rpartition("; ")
    assert (sentences.names(listed, preset_names()), meant) == (PRESETS, "did you mean oh-my-pi?")


def own(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.toml").write_text(text)


def test_a_policy_is_found_in_the_first_folder_that_has_it(tmp_path):
    own(tmp_path / "a", "mine", 'name = "mine"\ndescription = "first"')
    own(tmp_path / "b", "mine", 'name = "mine"\ndescription = "second"')
    own(tmp_path / "b", "pi", 'name = "pi"\ndescription = "my pi"')
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "nowhere"]
    assert [find_policy(name, folders).description for name in ("mine", "pi")] == ["first", "my pi"]


def test_what_no_folder_has_comes_with_refold_or_is_not_there(tmp_path):
    assert find_policy("pi", [tmp_path]) == find_policy("pi") == load_preset("pi")
    with pytest.raises(NotFoundError) as refused:
        find_policy("mine", [tmp_path])
    assert (refused.value.what, refused.value.name) == ("policy", "mine")


def test_a_policy_that_is_not_there_is_reported_with_a_persons_own_ones(tmp_path):
    own(tmp_path / "a", "mine", 'name = "mine"')
    with pytest.raises(NotFoundError) as refused:
        find_policy("mien", [tmp_path / "a", tmp_path / "nowhere"])
    there_are = ["layered", "mask", "mine", "oh-my-pi", "opencode", "pi", "refold"]
    listed, _, meant = refused.value.remedy.rpartition("; ")
    assert (sentences.names(listed, there_are), meant) == (there_are, "did you mean mine?")


def test_a_name_leads_out_of_no_folder(tmp_path):
    own(tmp_path / "a", "mine", 'name = "../a/mine"')
    with pytest.raises(NotFoundError):
        find_policy("../a/mine", [tmp_path / "a"])


def test_a_policy_that_goes_by_another_name_inside_is_reported(tmp_path):
    own(tmp_path / "a", "mine", 'name = "yours"')
    with pytest.raises(BadInputError) as refused:
        find_policy("mine", [tmp_path / "a"])
    assert "'yours'" in refused.value.problem
