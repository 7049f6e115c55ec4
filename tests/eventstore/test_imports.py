from __future__ import annotations

import pytest

from eventstore.imports import generation_of


def test_the_name_of_a_later_generation_ends_in_its_number() -> None:
    assert generation_of("s~12") == ("s", 12)


@pytest.mark.parametrize("name", ["s", "s~", "s~02", "~2", "s~" + "9" * 5_000])
def test_any_other_name_is_that_of_a_first_generation(name: str) -> None:
    assert generation_of(name) == (name, 1)
