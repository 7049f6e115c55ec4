"""Load policies from text, and report errors in them."""

from __future__ import annotations

import msgspec
import pytest

from compaction.cuts import KeepRecent, TailTurn
from compaction.policy.load import (
    InvalidPolicyError,
    load_policy_file,
    load_preset,
    parse_policy,
    preset_names,
)
from compaction.policy.model import Policy, Prompting
from compaction.rewrites import Micro
from compaction.triggers import Threshold
from eventstore.errors import BadInputError
from projections.placements import PLACEMENTS
from tests.support import sentences

SHAPES = ["serialized", "live-prefix"]
NAMES = {*preset_names(), *PLACEMENTS, *SHAPES, "keep-recent", "tail-turn", "last-messages", "threshold"}
NAMES |= {"none", "auto-continue", "replay"}


def test_a_policy_of_ones_own_takes_parts_of_any_preset():
    own = parse_policy(
        'name = "mine"\n[cut]\npart = "tail-turn"\nturns = 1\n[[rewrites]]\npart = "micro"\nkeep = 5\n',
        source="x",
    )
    assert (own.cut, own.rewrites) == (TailTurn(turns=1), (Micro(keep=5),))


def test_a_policy_may_extend_a_preset():
    own = parse_policy(
        'extends = "oh-my-pi"\nname = "mine"\n[cut]\npart = "keep-recent"\ntokens = 5\n', source="x"
    )
    assert (own.cut, own.rewrites) == (KeepRecent(tokens=5), load_preset("oh-my-pi").rewrites)


@pytest.mark.parametrize(
    "order",
    [["micro", "offload"], ["snip", "offload"], ["micro", "mask", "snip"], ["offload", "micro", "snip"]],
)
def test_layers_in_another_order_are_refused(order):
    rewrites = "".join(f'[[rewrites]]\npart = "{part}"\n' for part in order)
    with pytest.raises(InvalidPolicyError) as raised:
        parse_policy(f'name = "mine"\n{rewrites}', source="x")
    (issue,) = raised.value.issues
    assert issue.problem.endswith("offload, snip, micro")


@pytest.mark.parametrize(
    "order", [["micro", "mask"], ["mask", "micro"], ["offload", "micro"], ["snip", "snip"]]
)
def test_other_orders_of_rewrites_are_accepted(order):
    rewrites = "".join(f'[[rewrites]]\npart = "{part}"\n' for part in order)
    found = parse_policy(f'name = "mine"\n{rewrites}', source="x").rewrites
    assert [each.__struct_config__.tag for each in found] == order


@pytest.mark.parametrize("part", ["cut", "recovery", "restoring"])
def test_a_part_of_the_preset_may_be_taken_out(part):
    assert getattr(load_preset("layered"), part) is not None
    own = parse_policy(f'extends = "layered"\nname = "mine"\n{part} = "none"\n', source="x")
    assert msgspec.structs.replace(
        own, **{part: getattr(load_preset("layered"), part)}
    ) == msgspec.structs.replace(load_preset("layered"), name="mine")
    assert getattr(own, part) is None


def test_all_rewrites_of_the_preset_may_be_taken_out():
    assert parse_policy('extends = "oh-my-pi"\nname = "mine"\nrewrites = []\n', source="x").rewrites == ()


def test_a_policy_may_name_the_models_that_write_its_summaries():
    own = parse_policy('name = "mine"\n[prompting]\nmodels = ["small", "large"]\n', source="x")
    assert own.prompting.models == ("small", "large")


def test_a_policy_is_read_from_a_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"')
    assert load_policy_file(file).name == "mine"


def test_a_file_that_is_not_there_is_reported_by_its_name(tmp_path):
    with pytest.raises(BadInputError) as caught:
        load_policy_file(tmp_path / "nothing.toml")
    assert caught.value.source == str(tmp_path / "nothing.toml")


def faults(text):
    with pytest.raises(InvalidPolicyError) as caught:
        parse_policy(text, source="mine.toml")
    assert "\n" not in str(caught.value)
    assert caught.value.source == "policy mine.toml"
    return caught.value.issues


@pytest.mark.parametrize("text", ["name = ", "name = " + "[" * 5_000])
def test_what_is_no_toml_is_reported(text):
    with pytest.raises(BadInputError) as caught:
        parse_policy(text, source="mine.toml")
    assert (type(caught.value), caught.value.source) == (BadInputError, "policy mine.toml")


@pytest.mark.parametrize(
    ("text", "where", "value", "there_are"),
    [
        ("name = 3", "name", "3", []),
        ("", "name", "", []),
        ('name = "x"\nextends = "claude"', "extends", "'claude'", preset_names()),
        ('name = "x"\nextends = 3', "extends", "3", preset_names()),
        (
            'name = "x"\n[cut]\npart = "keep-all"',
            "[cut] part",
            "'keep-all'",
            ["keep-recent", "tail-turn", "last-messages"],
        ),
        ('name = "x"\ncut = "nothing"', "cut", "'nothing'", []),
        ('name = "x"\ntrigger = "none"', "trigger", "'none'", []),
        ('name = "x"\nplacement = "above"', "placement", "'above'", PLACEMENTS),
        ('name = "x"\ncontinuation = "wait"', "continuation", "'wait'", ["none", "auto-continue", "replay"]),
        ('name = "x"\n[prompting]\nfrom = "memory"', "[prompting] from", "'memory'", []),
        ('name = "x"\n[prompting]\nshape = "round"', "[prompting] shape", "'round'", SHAPES),
        ('name = "x"\n[trigger]\npart = "never"', "[trigger] part", "'never'", ["threshold"]),
    ],
)
def test_what_is_wrong_with_a_policy_is_reported_by_its_key(text, where, value, there_are):
    (fault,) = faults(text)
    assert (fault.where, value in fault.problem) == (where, True)
    assert sentences.names(fault.remedy, NAMES) == [*there_are]


def test_of_several_faults_the_first_is_reported_and_how_many_more_there_are():
    with pytest.raises(InvalidPolicyError) as caught:
        parse_policy('nam = "x"\n[cut]\npart = "keep-recent"\ntokens = 0', source="mine.toml")
    assert [fault.where for fault in caught.value.issues] == ["nam", "[cut] tokens", "name"]
    assert caught.value.problem == caught.value.issues[0].description
    assert sentences.numbers(caught.value.remedy) == [2]


def test_a_policy_that_extends_a_preset_has_a_name_of_its_own():
    (fault,) = faults('extends = "pi"\nbefore_requests = true')
    assert fault.where == "name"


def test_what_stands_for_extends_is_reported():
    (fault,) = faults('name = "x"\nextend = "pi"')
    assert (fault.where, sentences.names(fault.remedy, ["extends"])) == ("extend", ["extends"])


def test_a_wrong_part_of_the_trigger_hides_none_of_its_keys():
    with pytest.raises(InvalidPolicyError) as caught:
        parse_policy('name = "x"\n[trigger]\npart = "thresold"\nreserve = -1', source="mine.toml")
    assert [fault.where for fault in caught.value.issues] == ["[trigger] part", "[trigger] reserve"]


def test_a_model_without_a_name_is_reported_as_one():
    (fault,) = faults('name = "x"\n[prompting]\nmodels = [""]')
    assert (fault.where, "''" in fault.problem) == ("[prompting] models, number 1", True)


def test_all_faults_are_known():
    with pytest.raises(InvalidPolicyError) as caught:
        parse_policy('extends = "claude"\nplacement = "above"\n[[rewrites]]\nkep = 3', source="mine.toml")
    assert [fault.where for fault in caught.value.issues] == [
        "extends",
        "placement",
        "[rewrites, number 1] part",
        "name",
    ]


def test_the_names_of_a_faulty_policy_are_known_all_the_same():
    with pytest.raises(InvalidPolicyError) as caught:
        parse_policy(
            'name = "x"\n[prompting]\ntemplate = "ours"\nshort = 3\nwindow = "all"', source="mine.toml"
        )
    assert (caught.value.prompting.template, caught.value.prompting.short) == ("ours", "")


@pytest.mark.parametrize("part", ["placement", "recovery_placement", "continuation"])
def test_a_policy_made_in_python_has_no_part_that_there_is_not(part):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  what it names is looked at
        Policy(name="x", **{part: "unheard of"})
    assert str(caught.value).startswith(f"{part}: ")
    assert "'unheard of'" in str(caught.value)


def test_a_shape_that_there_is_not_is_none_in_python_either():
    with pytest.raises(ValueError) as caught:  # noqa: PT011  what it names is looked at
        Prompting(shape="nope")
    assert sentences.names(str(caught.value), ["nope", *SHAPES]) == ["nope", *SHAPES]


def test_a_trigger_that_does_not_say_its_part_is_a_threshold():
    assert parse_policy('name = "x"\n[trigger]\nreserve = 3', source="x").trigger == Threshold(reserve=3)


@pytest.mark.parametrize("part", ["placement", "recovery_placement", "continuation"])
def test_a_part_without_a_name_is_none(part):
    (fault,) = faults(f'name = "x"\n{part} = ""')
    assert (fault.where, "''" in fault.problem) == (part, True)


@pytest.mark.parametrize("source", ["context", "log"])
def test_a_policy_says_where_its_summarizer_reads_the_messages(source):
    said = f'name = "x"\n[prompting]\nfrom = "{source}"'
    assert parse_policy(said, source="text").prompting.source == source


def test_layered_summarizes_from_the_log_and_others_from_the_context():
    from_log = [name for name in preset_names() if load_preset(name).prompting.source == "log"]
    assert from_log == ["layered"]
