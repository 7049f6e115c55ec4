"""Everything that is wrong with a table, in words for whoever wrote it."""

from __future__ import annotations

import tomllib
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.faults import faults, known, one_of
from compaction.part import Count, PolicyPart, Positive, Share

PLANETS = {"mars": 4, "venus": 2}


class Soup(PolicyPart, frozen=True, tag="soup"):
    plates: Positive = 1
    salt: Count = 0
    warmth: Share = 0.5

    def __post_init__(self) -> None:
        if self.salt > self.plates:
            message = f"`salt` ({self.salt}) is more than `plates` ({self.plates})"
            raise ValueError(message)


class Bread(PolicyPart, frozen=True, tag="bread"):
    slices: Count | None = None


class Meal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    guest: Annotated[str, msgspec.Meta(min_length=1)]
    hot: bool = True
    served: Literal["at once", "later"] = "later"
    planet: Annotated[str, msgspec.Meta(extra=one_of("planet", PLANETS))] = "mars"
    notes: tuple[str, ...] = ()
    first: Soup = Soup()
    main: Soup | Bread | None = None
    more: tuple[Soup | Bread, ...] = ()


def told(text, guest='guest = "Ada"\n'):
    return [str(fault) for fault in faults(tomllib.loads(guest + text), Meal)]


def test_a_table_in_which_all_is_right_has_none():
    sound = 'hot = false\nplanet = "venus"\nnotes = ["a"]\n[main]\npart = "bread"\nslices = 2\n[first]\nplates = 2\n'
    assert told(sound + '[[more]]\npart = "soup"\n') == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hots = true", "hots: there is no such key; did you mean hot?"),
        (
            "xyz = 1",
            "xyz: there is no such key; there are: guest, hot, served, planet, notes, first, main, more",
        ),
        ('"a b" = 1', "'a b': there is no such key; "),
        ("hot = 1", "hot: it is 1; give true or false"),
        ('served = "soon"', "served: it is 'soon'; give one of at once, later"),
        ('planet = "pluto"', "planet: there is no planet 'pluto'; there are: mars, venus"),
        ("planet = 4", "planet: it is 4; give one of mars, venus"),
        ('notes = "a"', "notes: it is 'a'; give a list"),
        ('notes = ["a", 3]', "notes, number 2: it is 3; give a text"),
        ("first = 3", "first: it is 3; give a table"),
        ('[first]\npart = "bread"', "[first] part: there is no 'bread'; there are: soup"),
        ("[first]\nplates = 0", "[first] plates: it is 0; give a whole number, 1 or more"),
        ("[first]\nplates = true", "[first] plates: it is true; give a whole number, 1 or more"),
        ("[first]\nplates = 2.5", "[first] plates: it is 2.5; give a whole number, 1 or more"),
        ("[first]\nwarmth = 1.5", "[first] warmth: it is 1.5; give a number from 0 to 1"),
        ("[first]\nwarmth = nan", "[first] warmth: it is nan; give a number from 0 to 1"),
        ("[first]\nwarmth = 1979-05-27", "[first] warmth: it is datetime.date(1979, 5, 27); give a number"),
        ("[first]\nsalt = 3", "[first]: `salt` (3) is more than `plates` (1); change one of them"),
        ("[main]\nslices = 1", "[main] part: it is missing; there are: soup, bread"),
        ("[main]\npart = 3", "[main] part: there is no 3; there are: soup, bread"),
        ('[main]\npart = "bread"\nslices = -1', "[main] slices: it is -1; give a whole number, 0 or more"),
        ('more = ["soup"]', "more, number 1: it is 'soup'; give a table"),
        (
            '[[more]]\npart = "soup"\n[[more]]\npart = "bread"\ncrust = 1',
            "[[more]] number 2, crust: there is no such key; there are: slices",
        ),
        (
            '[[more]]\npart = "soup"\nsalt = 2',
            "[[more]] number 1: `salt` (2) is more than `plates` (1); change one of them",
        ),
    ],
)
def test_each_fault_is_told_by_its_table_and_key_with_what_to_do(text, fault):
    (found,) = told(text)
    assert found.startswith(fault)


def test_what_is_missing_is_told_last():
    assert told("hot = 1", guest="") == [
        "hot: it is 1; give true or false",
        "guest: it is missing; give a text that is not empty",
    ]


def test_all_faults_are_told_in_the_order_of_their_keys():
    assert [
        fault.partition(":")[0] for fault in told("x = 1\nnotes = 1\n[main]\n[first]\ny = 1\nsalt = -1")
    ] == [
        "x",
        "notes",
        "[main] part",
        "[first] y",
        "[first] salt",
    ]


def test_a_long_value_is_told_by_its_ends():
    (found,) = told(f"hot = '{'x' * 900}'")
    assert len(found) < 100


def test_names_are_those_that_there_are_by_then(monkeypatch):
    monkeypatch.setitem(PLANETS, "pluto", 9)
    assert told('planet = "pluto"') == []


def test_a_name_that_there_is_not_is_told_with_those_there_are():
    known("planet", "mars", PLANETS)
    with pytest.raises(ValueError, match=r"^there is no planet 'pluto'; there are: mars, venus$"):
        known("planet", "pluto", PLANETS)


_keys = st.sampled_from(["guest", "hot", "planet", "notes", "first", "main", "more", "part", "salt", "x"])
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.sampled_from(["soup", "mars", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(_keys, _values, max_size=6))
def test_a_table_is_a_struct_exactly_where_it_has_no_faults(table):
    try:
        msgspec.convert(table, Meal)
    except msgspec.ValidationError:
        assert faults(table, Meal)
    else:
        found = [fault for fault in faults(table, Meal) if "planet" not in fault.where]
        assert [fault for fault in found if "nan" not in fault.problem] == []


class Oven(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    heat: Annotated[int, msgspec.Meta(ge=0, le=300)] = 0


class Kitchen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    oven: Oven | None = None


@pytest.mark.parametrize(
    ("oven", "told"),
    [
        ({"heat": 300}, []),
        ({"heat": 301}, ["[oven] heat: it is 301; give a whole number, 0 to 300"]),
        ({"cold": 1}, ["[oven] cold: there is no such key; there are: heat"]),
    ],
)
def test_a_table_that_is_no_part_of_a_policy_has_no_tag(oven, told):
    assert [str(fault) for fault in faults({"oven": oven}, Kitchen)] == told
