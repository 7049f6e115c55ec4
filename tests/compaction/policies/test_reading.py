"""What a text says as a policy, and what is wrong with one."""

from __future__ import annotations

import msgspec
import pytest

from compaction.cuts import KeepRecent, TailTurn
from compaction.policies import FaultyPolicyError, Policy, Prompting, parse, policy_of_file, preset
from compaction.rewrites import Micro
from compaction.triggers import Threshold
from eventstore.errors import BadInputError
from projections.placements import PLACEMENTS


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


def test_a_policy_is_read_from_a_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"')
    assert policy_of_file(file).name == "mine"


def test_a_file_that_is_not_there_is_told_by_its_name(tmp_path):
    with pytest.raises(BadInputError, match=r"nothing\.toml: No such file"):
        policy_of_file(tmp_path / "nothing.toml")


def problem(text):
    with pytest.raises(BadInputError) as caught:
        parse(text, source="mine.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_no_toml_is_told():
    assert problem("name = ") == "policy mine.toml: Invalid value (at end of document); correct the TOML"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = 3", "name: it is 3; give a name"),
        ("", "name: it is missing; give a name"),
        (
            'name = "x"\nextends = "claude"',
            "extends: there is no preset 'claude'; there are: layered, mask, oh-my-pi, opencode, pi",
        ),
        ('name = "x"\nextends = 3', "extends: it is 3; give one of layered, mask, oh-my-pi, opencode, pi"),
        (
            'name = "x"\n[cut]\npart = "keep-all"',
            "[cut] part: there is no 'keep-all'; there are: keep-recent, tail-turn, last-messages",
        ),
        ('name = "x"\ncut = "nothing"', "cut: it is 'nothing'; give a table"),
        ('name = "x"\ntrigger = "none"', "trigger: it is 'none'; give a table"),
        (
            'name = "x"\nplacement = "above"',
            f"placement: there is no placement 'above'; there are: {', '.join(PLACEMENTS)}",
        ),
        (
            'name = "x"\ncontinuation = "wait"',
            "continuation: there is no continuation 'wait'; there are: none, auto-continue, replay",
        ),
        (
            'name = "x"\n[prompting]\nshape = "round"',
            "[prompting] shape: there is no shape 'round'; there are: serialized, live-prefix",
        ),
        (
            'name = "x"\n[trigger]\npart = "never"',
            "[trigger] part: there is no 'never'; there are: threshold",
        ),
    ],
)
def test_what_is_wrong_with_a_policy_is_told_by_its_key(text, told):
    assert problem(text) == f"policy mine.toml: {told}"


def test_of_several_faults_the_first_is_told_and_how_many_more_there_are():
    assert problem('nam = "x"\n[cut]\npart = "keep-recent"\ntokens = 0') == (
        "policy mine.toml: nam: there is no such key; did you mean name? (and 2 more)"
    )


def test_a_policy_that_extends_a_preset_has_a_name_of_its_own():
    assert problem('extends = "pi"\nbefore_requests = true') == (
        "policy mine.toml: name: it is missing; give a name"
    )


def test_what_stands_for_extends_is_told():
    assert problem('name = "x"\nextend = "pi"').endswith(
        "extend: there is no such key; did you mean extends?"
    )


def test_a_wrong_part_of_the_trigger_hides_none_of_its_keys():
    with pytest.raises(FaultyPolicyError) as caught:
        parse('name = "x"\n[trigger]\npart = "thresold"\nreserve = -1', source="mine.toml")
    assert [fault.where for fault in caught.value.faults] == ["[trigger] part", "[trigger] reserve"]


def test_a_model_without_a_name_is_told_as_one():
    assert problem('name = "x"\n[prompting]\nmodels = [""]') == (
        "policy mine.toml: [prompting] models, number 1: it is ''; give the name of a model"
    )


def test_all_faults_are_known():
    with pytest.raises(FaultyPolicyError) as caught:
        parse('extends = "claude"\nplacement = "above"\n[[rewrites]]\nkep = 3', source="mine.toml")
    assert [fault.where for fault in caught.value.faults] == [
        "extends",
        "placement",
        "[rewrites, number 1] part",
        "name",
    ]


def test_the_names_of_a_faulty_policy_are_known_all_the_same():
    with pytest.raises(FaultyPolicyError) as caught:
        parse('name = "x"\n[prompting]\ntemplate = "ours"\nshort = 3\nwindow = "all"', source="mine.toml")
    assert (caught.value.prompting.template, caught.value.prompting.short) == ("ours", "")


@pytest.mark.parametrize("part", ["placement", "recovery_placement", "continuation"])
def test_a_policy_made_in_python_has_no_part_that_there_is_not(part):
    with pytest.raises(ValueError, match=rf"^{part}: there is no \w+ 'unheard of'; there are: "):
        Policy(name="x", **{part: "unheard of"})


def test_a_shape_that_there_is_not_is_none_in_python_either():
    with pytest.raises(ValueError, match="there is no shape 'nope'; there are: serialized, live-prefix"):
        Prompting(shape="nope")


def test_a_trigger_that_does_not_say_its_part_is_a_threshold():
    assert parse('name = "x"\n[trigger]\nreserve = 3', source="x").trigger == Threshold(reserve=3)


@pytest.mark.parametrize("part", ["placement", "recovery_placement", "continuation"])
def test_a_part_without_a_name_is_none(part):
    assert problem(f'name = "x"\n{part} = ""').startswith(f"policy mine.toml: {part}: there is no ")
