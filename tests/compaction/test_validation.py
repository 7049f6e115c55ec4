"""Everything that is wrong with a table, in words for whoever wrote it."""

from __future__ import annotations

import tomllib
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.part import Count, PolicyPart, Positive, Share
from compaction.validation import InvalidInputError, ValidationIssue, check_known_names, one_of, validate
from tests.support import sentences

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
        check_known_names(self)


KEYS = [field.name for field in msgspec.structs.fields(Meal)]
TYPES = ["true", "false", "list", "text", "table", "whole", "number", "more", "less"]
DATA = {
    *KEYS,
    *TYPES,
    *PLANETS,
    "bread",
    "soup",
    "slices",
    "salt",
    "warmth",
    "plates",
    "guest",
    "wine",
    "heat",
}
DATA |= {"once", "soon", "later", "pluto", "marz", "bred", "hots", "xyz", "crust", "cold", "soop", "spice"}


def faults(text, guest='guest = "Ada"\n'):
    found = validate(tomllib.loads(guest + text), Meal)
    return found if isinstance(found, list) else []


def data(fault):
    """Of a fault: where it is, what is there, and what there may be."""
    return fault.where, sentences.names(fault.problem, DATA), sentences.names(fault.remedy, DATA)


def test_a_table_in_which_all_is_right_has_none():
    sound = 'hot = false\ntable = "big"\nseats = [1]\nprices = {}\nplanet = "venus"\nnotes = ["a"]\n'
    sound += '[main]\npart = "bread"\nslices = 2\n[first]\nplates = 2\n'
    assert faults(sound + '[[more]]\npart = "soup"\n') == []


@pytest.mark.parametrize(
    ("text", "where", "there_is", "there_may_be"),
    [
        ("hots = true", "hots", [], ["hot"]),
        ("xyz = 1", "xyz", [], KEYS),
        ('"a b" = 1', "'a b'", [], KEYS),
        ('served = "soon"', "served", ["soon"], ["once", "later"]),
        ('planet = "pluto"', "planet", ["planet", "pluto"], ["mars", "venus"]),
        ('planet = "marz"', "planet", ["planet", "marz"], ["mars"]),
        ('[main]\npart = "bred"', "[main] part", ["bred"], ["bread"]),
        ('[first]\npart = "bread"', "[first] part", ["bread"], ["soup"]),
        ("[first]\nsalt = 3", "first", ["salt", "more", "plates"], []),
        ("[main]\nslices = 1", "[main] part", [], ["soup", "bread"]),
        (
            '[[more]]\npart = "soup"\n[[more]]\npart = "bread"\ncrust = 1',
            "[more, number 2] crust",
            [],
            ["slices"],
        ),
        ('[[more]]\npart = "soup"\nsalt = 2', "more, number 1", ["salt", "more", "plates"], []),
    ],
)
def test_a_name_that_there_is_not_is_reported_by_its_table_and_key_with_those_that_there_are(
    text, where, there_is, there_may_be
):
    (found,) = faults(text)
    assert data(found) == (where, there_is, there_may_be)


@pytest.mark.parametrize(
    ("text", "where", "value", "wanted", "bounds"),
    [
        ("hot = 1", "hot", "1", ["true", "false"], []),
        ("planet = 4", "planet", "4", ["mars", "venus"], []),
        ('notes = "a"', "notes", "'a'", ["list"], []),
        ('notes = ["a", 3]', "notes, number 2", "3", ["text"], []),
        ("first = 3", "first", "3", ["table"], []),
        ("wine = [1]", "wine, number 1", "1", ["wine"], []),
        ("seats = 1", "seats", "1", ["list"], []),
        ("seats = [1, 'two']", "seats, number 2", "'two'", ["whole", "number"], []),
        ("prices = 1", "prices", "1", ["table"], []),
        ("prices = {soup = -1, bread = 2}", "[prices] soup", "-1", ["whole", "number", "more"], [0]),
        ("table = 1.5", "table", "1.5", ["whole", "number", "text"], []),
        ("[first]\nplates = 0", "[first] plates", "0", ["whole", "number", "more"], [1]),
        ("[first]\nplates = true", "[first] plates", "true", ["whole", "number", "more"], [1]),
        ("[first]\nplates = 2.5", "[first] plates", "2.5", ["whole", "number", "more"], [1]),
        ("[first]\nwarmth = 1.5", "[first] warmth", "1.5", ["number", "more", "less"], [0, 1]),
        ("[first]\nwarmth = nan", "[first] warmth", "nan", ["number", "more", "less"], [0, 1]),
        (
            "[first]\nwarmth = 1979-05-27",
            "[first] warmth",
            "datetime.date(1979, 5, 27)",
            ["number", "more", "less"],
            [0, 1],
        ),
        ("[main]\npart = 3", "[main] part", "3", ["soup", "bread"], []),
        ('[main]\npart = "bread"\nslices = -1', "[main] slices", "-1", ["whole", "number", "more"], [0]),
        ('more = ["soup"]', "more, number 1", "'soup'", ["table"], []),
    ],
)
def test_a_value_of_another_type_is_reported_by_its_table_and_key_with_the_type_and_its_bounds(
    text, where, value, wanted, bounds
):
    (found,) = faults(text)
    assert found.where == where
    assert found.problem.endswith(f" {value}")
    assert (sentences.names(found.remedy, DATA), sentences.numbers(found.remedy)) == (wanted, bounds)


def test_numbers_that_do_not_go_together_are_told_both():
    (found,) = faults("[first]\nsalt = 3")
    assert sentences.numbers(found.problem) == [3, 1]


def test_what_is_missing_is_told_last():
    hot, guest = faults("hot = 1", guest="")
    assert data(hot) == ("hot", [], ["true", "false"])
    assert data(guest) == ("guest", [], ["guest"])


def test_all_faults_are_reported_in_the_order_of_their_keys():
    assert [fault.where for fault in faults("x = 1\nnotes = 1\n[main]\n[first]\ny = 1\nsalt = -1")] == [
        "x",
        "notes",
        "[main] part",
        "[first] y",
        "[first] salt",
    ]


def test_a_long_value_is_reported_by_its_ends():
    (found,) = faults(f"hot = '{'x' * 900}'")
    assert len(str(found)) < 100


def test_names_are_those_that_there_are_by_then(monkeypatch):
    monkeypatch.setitem(PLANETS, "pluto", 9)
    assert faults('planet = "pluto"') == []


def test_a_struct_made_in_python_has_no_name_that_there_is_not():
    assert Meal(guest="Ada", planet="venus").planet == "venus"
    with pytest.raises(ValueError) as refused:  # noqa: PT011  what it names is looked at
        Meal(guest="Ada", planet="pluto")
    assert sentences.names(str(refused.value), DATA) == ["planet", "planet", "pluto", "mars", "venus"]


def test_a_wrong_part_hides_nothing_else_of_a_table_that_can_be_one_part_only():
    assert [data(fault) for fault in faults('[first]\npart = "soop"\nplates = 0\nspice = 1')] == [
        ("[first] part", ["soop"], ["soup"]),
        ("[first] plates", [], ["whole", "number", "more"]),
        ("[first] spice", [], ["plates", "salt", "warmth"]),
    ]


def test_input_with_faults_tells_each_in_a_line_of_its_own_and_in_one_the_first():
    error = InvalidInputError(
        "meal.toml",
        [ValidationIssue("hot", "it is 1", "give 2"), ValidationIssue("", "it is odd", "change it")],
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


_almost_sound = st.fixed_dictionaries(
    {"guest": st.sampled_from(["Ada", "Ada", ""])},
    optional={
        "hot": st.booleans(),
        "planet": st.sampled_from(["mars", "venus", "pluto"]),
        "notes": st.lists(st.sampled_from(["a", "b"]), max_size=2),
        "first": st.fixed_dictionaries({}, optional={"plates": st.integers(0, 2), "salt": st.integers(0, 2)}),
        "main": st.fixed_dictionaries({"part": st.sampled_from(["soup", "bread"])}),
        "seats": st.lists(st.integers(), max_size=2),
        "prices": st.dictionaries(st.text(max_size=3), st.integers(-1, 2), max_size=2),
        "table": st.integers() | st.text(max_size=3) | st.floats(),
    },
)


@given(st.dictionaries(_keys, _values, max_size=6) | _almost_sound)
def test_a_table_is_a_struct_exactly_where_it_has_no_faults(table):
    try:
        meal = msgspec.convert(table, Meal)
    except msgspec.ValidationError:
        assert isinstance(validate(table, Meal), list)
    else:
        assert validate(table, Meal) == meal


class Oven(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    heat: Annotated[int, msgspec.Meta(ge=0, le=300)] = 0


class Kitchen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    oven: Oven | None = None


@pytest.mark.parametrize(
    ("oven", "told_of"),
    [
        ({"heat": 300}, []),
        ({"heat": 301}, [("[oven] heat", ["whole", "number", "more", "less"], [0, 300])]),
        ({"cold": 1}, [("[oven] cold", ["heat"], [])]),
    ],
)
def test_a_table_that_is_no_part_of_a_policy_has_no_tag(oven, told_of):
    found = validate({"oven": oven}, Kitchen)
    assert [
        (fault.where, sentences.names(fault.remedy, DATA), sentences.numbers(fault.remedy))
        for fault in (found if isinstance(found, list) else [])
    ] == told_of
