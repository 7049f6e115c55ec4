"""Policies as data: presets, a person's own, and what is wrong with one."""

from __future__ import annotations

import msgspec
import pytest

from compaction.cuts import KeepRecent, LastMessages, TailTurn
from compaction.part import Limits
from compaction.policies import find, parse, policy_of_file, preset, preset_names
from compaction.rewrites import Mask, Micro, Offload, Prune, PruneTurns, Snip, Supersede, Useless
from eventstore.errors import BadInputError, NotFoundError

LIMITS = Limits(window=200_000, output=64_000)


def test_there_are_five_presets():
    assert preset_names() == ["layered", "mask", "oh-my-pi", "opencode", "pi"]


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_has_the_name_of_its_file_and_says_what_it_does(name):
    assert (preset(name).name, bool(preset(name).description)) == (name, True)


@pytest.mark.parametrize(
    ("name", "threshold", "counter"),
    [
        ("oh-my-pi", 170_000, "bytes/4"),
        ("pi", 183_616, "utf16/4"),
        ("opencode", 180_000, "utf16/4"),
        ("layered", 167_000, "o200k"),
        ("mask", 170_000, "o200k"),
    ],
)
def test_presets_trigger_and_count_as_their_harnesses_do(name, threshold, counter):
    assert (preset(name).trigger.threshold(LIMITS), preset(name).counter) == (threshold, counter)


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("oh-my-pi", KeepRecent(tokens=20_000, adapts=True)),
        ("pi", KeepRecent(tokens=20_000)),
        ("opencode", TailTurn(turns=2, share=0.25, least=2_000, most=8_000)),
        ("layered", LastMessages(messages=0)),
        ("mask", None),
    ],
)
def test_presets_cut_as_their_harnesses_do(name, cut):
    assert preset(name).cut == cut


@pytest.mark.parametrize(
    ("name", "rewrites"),
    [
        ("oh-my-pi", [Supersede, Useless, Prune]),
        ("pi", []),
        ("opencode", [PruneTurns]),
        ("layered", [Offload, Snip, Micro]),
        ("mask", [Mask]),
    ],
)
def test_presets_rewrite_in_the_order_of_their_harnesses(name, rewrites):
    assert [type(part) for part in preset(name).rewrites] == rewrites


def test_layered_saves_large_results_before_micro_would_blank_them():
    kinds = [type(part) for part in preset("layered").rewrites]
    assert kinds.index(Offload) < kinds.index(Micro)


def test_layered_keeps_the_last_five_messages_after_a_refused_request():
    assert preset("layered").recovery == LastMessages(messages=5)


def test_mask_asks_no_model():
    assert preset("mask").cut is None


def test_a_policy_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(NotFoundError, match="there are: layered, mask, oh-my-pi, opencode, pi"):
        preset("ohmypi")


def test_a_policy_of_ones_own_takes_parts_of_any_preset():
    own = parse(
        'name = "mine"\n[cut]\npart = "tail-turn"\nturns = 1\n[[rewrites]]\npart = "micro"\nkeep = 5\n',
        source="x",
    )
    assert (own.cut, own.rewrites) == (TailTurn(turns=1), (Micro(keep=5),))


def test_a_policy_may_extend_a_preset():
    own = parse('extends = "oh-my-pi"\nname = "mine"\n[cut]\npart = "keep-recent"\ntokens = 5\n', source="x")
    assert (own.cut, own.rewrites) == (KeepRecent(tokens=5), preset("oh-my-pi").rewrites)


@pytest.mark.parametrize("part", ["cut", "recovery", "restoring"])
def test_a_part_of_the_preset_may_be_taken_out(part):
    assert getattr(preset("layered"), part) is not None
    own = parse(f'extends = "layered"\nname = "mine"\n{part} = "none"\n', source="x")
    assert msgspec.structs.replace(
        own, **{part: getattr(preset("layered"), part)}
    ) == msgspec.structs.replace(preset("layered"), name="mine")
    assert getattr(own, part) is None


def test_all_rewrites_of_the_preset_may_be_taken_out():
    assert parse('extends = "oh-my-pi"\nname = "mine"\nrewrites = []\n', source="x").rewrites == ()


def test_a_policy_may_name_the_models_that_write_its_summaries():
    own = parse('name = "mine"\n[prompting]\nmodels = ["small", "large"]\n', source="x")
    assert own.prompting.models == ("small", "large")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = ", "Invalid value"),
        ("name = 3", r"Expected `str`, got `int` - at `\$\.name`"),
        ('name = "x"\nsummarise = true', "unknown field `summarise`"),
        ('name = "x"\n[cut]\npart = "keep-all"', r"Invalid value 'keep-all' - at `\$\.cut\.part`"),
        ('name = "x"\n[cut]\npart = "keep-recent"\ntokens = "many"', r"at `\$\.cut\.tokens`"),
        (
            'name = "x"\n[[rewrites]]\npart = "micro"\nkep = 3',
            r"unknown field `kep` - at `\$\.rewrites\[0\]`",
        ),
        ('extends = "claude"\nname = "x"', "extends 'claude'"),
        ('name = "x"\ncut = "nothing"', r"Expected `object \| null`, got `str` - at `\$\.cut`"),
        ('name = "x"\ntrigger = "none"', r"Expected `object`, got `str` - at `\$\.trigger`"),
        ('name = "x"\nrewrites = "none"', r"Expected `array`, got `str` - at `\$\.rewrites`"),
        ('name = "x"\n[prompting]\nmodels = "small"', r"got `str` - at `\$\.prompting\.models`"),
        ('name = "x"\n[prompting]\nmodels = [""]', r"length >= 1 - at `\$\.prompting\.models\[0\]`"),
        ("", "missing required field `name`"),
        ('name = ""', r"length >= 1 - at `\$\.name`"),
        (
            'extends = "pi"\nname = "x"\n[cut]\npart = "keep-recent"\ntokens = 0',
            r">= 1 - at `\$\.cut\.tokens`",
        ),
        ('extends = "opencode"\nname = "x"\n[cut]\npart = "tail-turn"\nturns = 0', r"at `\$\.cut\.turns`"),
        ('extends = "opencode"\nname = "x"\n[cut]\npart = "tail-turn"\nshare = 1.5', r"at `\$\.cut\.share`"),
        ('name = "x"\n[trigger]\npart = "threshold"\nreserve = -1', r"at `\$\.trigger\.reserve`"),
        ('name = "x"\n[[rewrites]]\npart = "mask"\nkeep_observations = -3', r">= 0 - at `\$\.rewrites\[0\]"),
        ('name = "x"\n[[rewrites]]\npart = "snip"\nhead = 0', r">= 1 - at `\$\.rewrites\[0\]\.head`"),
        (
            'name = "x"\n[[rewrites]]\npart = "snip"\nlongest = 3\nhead = 3',
            r"`head` \(3\) has to be less than `longest` \(3\)",
        ),
    ],
)
def test_what_is_wrong_with_a_policy_is_told_by_its_key(text, problem):
    with pytest.raises(BadInputError, match=problem) as caught:
        parse(text, source="mine.toml")
    assert "policy mine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_is_read_from_a_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"')
    assert policy_of_file(file).name == "mine"


def test_a_file_that_is_not_there_is_told_by_its_name(tmp_path):
    with pytest.raises(BadInputError, match=r"nothing\.toml: No such file"):
        policy_of_file(tmp_path / "nothing.toml")


def own(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.toml").write_text(text)


def test_a_policy_is_found_in_the_first_folder_that_has_it(tmp_path):
    own(tmp_path / "a", "mine", 'name = "mine"\ndescription = "first"')
    own(tmp_path / "b", "mine", 'name = "mine"\ndescription = "second"')
    own(tmp_path / "b", "pi", 'name = "pi"\ndescription = "my pi"')
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "nowhere"]
    assert [find(name, folders).description for name in ("mine", "pi")] == ["first", "my pi"]


def test_what_no_folder_has_comes_with_refold_or_is_not_there(tmp_path):
    assert find("pi", [tmp_path]) == find("pi") == preset("pi")
    with pytest.raises(NotFoundError, match="no policy 'mine'"):
        find("mine", [tmp_path])


def test_a_name_leads_out_of_no_folder(tmp_path):
    own(tmp_path / "a", "mine", 'name = "../a/mine"')
    with pytest.raises(NotFoundError):
        find("../a/mine", [tmp_path / "a"])


def test_a_policy_that_goes_by_another_name_inside_is_told(tmp_path):
    own(tmp_path / "a", "mine", 'name = "yours"')
    with pytest.raises(BadInputError, match="it calls itself 'yours'"):
        find("mine", [tmp_path / "a"])
