from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.store import begin_with, generation_of, newest_generation, short_names

UUID = "0199aaaa-0000-7000-8000-000000000001"
OTHER = "0199aaaa-0001-7000-8000-000000000001"


def test_the_name_of_a_later_generation_ends_in_its_number() -> None:
    assert generation_of("s~12") == ("s", 12)
    assert [generation_of(name) for name in ("s", "s~", "s~02", "~2")] == [
        ("s", 1),
        ("s~", 1),
        ("s~02", 1),
        ("~2", 1),
    ]


def test_the_tenth_generation_is_newer_than_the_ninth() -> None:
    assert newest_generation(["s~9", "s", "s~10"]) == "s~10"


def test_names_of_several_sessions_have_no_newest_generation() -> None:
    assert newest_generation(["s~2", "t"]) is None
    assert newest_generation([]) is None


def test_a_beginning_with_a_number_stands_for_that_generation() -> None:
    names = [UUID, f"{UUID}~2", OTHER]
    assert begin_with("0199aaaa-0000~1", names) == [UUID]
    assert begin_with("0199~2", names) == [f"{UUID}~2"]
    assert begin_with("0199aaaa-0000", names) == [UUID, f"{UUID}~2"]


def test_long_names_are_shown_by_a_beginning_that_no_other_has() -> None:
    names = [UUID, OTHER, "demo-rate-limiter"]
    assert list(short_names(names).values()) == ["0199aaaa-0000", "0199aaaa-0001", "demo-rate-limiter"]


def test_generations_of_a_session_are_shown_by_one_beginning_and_their_numbers() -> None:
    assert list(short_names([UUID, f"{UUID}~2"]).values()) == ["0199aaaa-0000~1", "0199aaaa-0000~2"]
    assert short_names(["demo", "demo~2", f"{OTHER}~2"]) == {
        "demo": "demo",
        "demo~2": "demo~2",
        f"{OTHER}~2": "0199aaaa-0001~2",
    }


def test_names_that_begin_alike_for_long_stay_whole() -> None:
    names = [UUID, f"{UUID}-again"]
    assert list(short_names(names).values()) == names


@given(st.sets(st.text("ab-~2", min_size=1, max_size=40), max_size=20))
def test_what_is_shown_of_a_name_stands_for_it_alone(names: set[str]) -> None:
    for whole, shown in short_names(sorted(names)).items():
        assert shown == whole or begin_with(shown, sorted(names)) == [whole]
