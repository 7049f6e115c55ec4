"""Everything that is wrong with a table, in words for whoever wrote it."""

from __future__ import annotations

import tomllib
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.faults import Fault, FaultyInputError, check, check_names, one_of
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
    guest: Annotated[str, msgspec.Meta(min_length=1, description="the name of a guest")]
    hot: bool = True
    served: Literal["at once", "later"] = "later"
    planet: Annotated[str, msgspec.Meta(extra=one_of("planet", PLANETS))] = "mars"
    notes: tuple[str, ...] = ()
    first: Soup = Soup()
    main: Soup | Bread | None = None
    more: tuple[Soup | Bread, ...] = ()
    seats: list[int] = []
    prices: dict[str, Count] = {}
    table: int | str = 1
    wine: tuple[Annotated[str, msgspec.Meta(description="the name of a wine")], ...] = ()

    def __post_init__(self) -> None:
        check_names(self)


def told(text, guest='guest = "Ada"\n'):
    return [str(fault) for fault in check(tomllib.loads(guest + text), Meal)]


def test_a_table_in_which_all_is_right_has_none():
    sound = 'hot = false\ntable = "big"\nseats = [1]\nprices = {}\nplanet = "venus"\nnotes = ["a"]\n'
    sound += '[main]\npart = "bread"\nslices = 2\n[first]\nplates = 2\n'
    assert told(sound + '[[more]]\npart = "soup"\n') == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hots = true", "hots: there is no such key; did you mean hot?"),
        (
            "xyz = 1",
            "xyz: there is no such key; there are: guest, hot, served, planet, notes, first, main, more, seats, ",
        ),
        ('"a b" = 1', "'a b': there is no such key; "),
        ("hot = 1", "hot: it is 1; give true or false"),
        ('served = "soon"', "served: it is 'soon'; give one of at once, later"),
        ('planet = "pluto"', "planet: there is no planet 'pluto'; there are: mars, venus"),
        ('planet = "marz"', "planet: there is no planet 'marz'; did you mean mars?"),
        ("planet = 4", "planet: it is 4; give one of mars, venus"),
        ('notes = "a"', "notes: it is 'a'; give a list"),
        ('notes = ["a", 3]', "notes, number 2: it is 3; give a text"),
        ("first = 3", "first: it is 3; give a table"),
        ("wine = [1]", "wine, number 1: it is 1; give the name of a wine"),
        ("seats = 1", "seats: it is 1; give a list"),
        ("seats = [1, 'two']", "seats, number 2: it is 'two'; give a whole number"),
        ("prices = 1", "prices: it is 1; give a table"),
        ("prices = {soup = -1, bread = 2}", "[prices] soup: it is -1; give a whole number, 0 or more"),
        ("table = 1.5", "table: it is 1.5; give a whole number or a text"),
        ('[main]\npart = "bred"', "[main] part: there is no 'bred'; did you mean bread?"),
        ('[first]\npart = "bread"', "[first] part: there is no 'bread'; there are: soup"),
        ("[first]\nplates = 0", "[first] plates: it is 0; give a whole number, 1 or more"),
        ("[first]\nplates = true", "[first] plates: it is true; give a whole number, 1 or more"),
        ("[first]\nplates = 2.5", "[first] plates: it is 2.5; give a whole number, 1 or more"),
        ("[first]\nwarmth = 1.5", "[first] warmth: it is 1.5; give a number, 0 or more, 1 or less"),
        ("[first]\nwarmth = nan", "[first] warmth: it is nan; give a number, 0 or more, 1 or less"),
        ("[first]\nwarmth = 1979-05-27", "[first] warmth: it is datetime.date(1979, 5, 27); give a number"),
        ("[first]\nsalt = 3", "first: `salt` (3) is more than `plates` (1); change one of them"),
        ("[main]\nslices = 1", "[main] part: it is missing; there are: soup, bread"),
        ("[main]\npart = 3", "[main] part: there is no 3; there are: soup, bread"),
        ('[main]\npart = "bread"\nslices = -1', "[main] slices: it is -1; give a whole number, 0 or more"),
        ('more = ["soup"]', "more, number 1: it is 'soup'; give a table"),
        (
            '[[more]]\npart = "soup"\n[[more]]\npart = "bread"\ncrust = 1',
            "[more, number 2] crust: there is no such key; there are: slices",
        ),
        (
            '[[more]]\npart = "soup"\nsalt = 2',
            "more, number 1: `salt` (2) is more than `plates` (1); change one of them",
        ),
    ],
)
def test_each_fault_is_told_by_its_table_and_key_with_what_to_do(text, fault):
    (found,) = told(text)
    assert found.startswith(fault)


def test_what_is_missing_is_told_last():
    assert told("hot = 1", guest="") == [
        "hot: it is 1; give true or false",
        "guest: it is missing; give the name of a guest",
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


def test_a_struct_made_in_python_has_no_name_that_there_is_not():
    assert Meal(guest="Ada", planet="venus").planet == "venus"
    with pytest.raises(ValueError, match=r"^planet: there is no planet 'pluto'; there are: mars, venus$"):
        Meal(guest="Ada", planet="pluto")


def test_a_wrong_part_hides_nothing_else_of_a_table_that_can_be_one_part_only():
    assert told('[first]\npart = "soop"\nplates = 0\nspice = 1') == [
        "[first] part: there is no 'soop'; did you mean soup?",
        "[first] plates: it is 0; give a whole number, 1 or more",
        "[first] spice: there is no such key; there are: plates, salt, warmth",
    ]


def test_input_with_faults_tells_each_in_a_line_of_its_own_and_in_one_the_first():
    error = FaultyInputError(
        "meal.toml", [Fault("hot", "it is 1", "give 2"), Fault("", "it is odd", "change it")]
    )
    assert error.lines == ["meal.toml: hot: it is 1; give 2", "meal.toml: it is odd; change it"]
    assert str(error) == "meal.toml: hot: it is 1; give 2 (and 1 more)"


_keys = st.sampled_from(
    [
        "guest",
        "hot",
        "planet",
        "notes",
        "first",
        "main",
        "more",
        "seats",
        "prices",
        "table",
        "wine",
        "part",
        "salt",
        "x",
    ]
)
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
        assert check(table, Meal)
    else:
        assert check(table, Meal) == []


class Oven(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    heat: Annotated[int, msgspec.Meta(ge=0, le=300)] = 0


class Kitchen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    oven: Oven | None = None


@pytest.mark.parametrize(
    ("oven", "told"),
    [
        ({"heat": 300}, []),
        ({"heat": 301}, ["[oven] heat: it is 301; give a whole number, 0 or more, 300 or less"]),
        ({"cold": 1}, ["[oven] cold: there is no such key; there are: heat"]),
    ],
)
def test_a_table_that_is_no_part_of_a_policy_has_no_tag(oven, told):
    assert [str(fault) for fault in check({"oven": oven}, Kitchen)] == told
