from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cli.user_files import toml_text

names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
scalars = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
flat = st.dictionaries(names, scalars | st.lists(scalars))
tables = st.dictionaries(names, scalars | st.lists(scalars) | flat | st.lists(flat, min_size=1))


@given(tables)
def test_what_is_written_is_read_as_it_was(values: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(values)) == values


def test_what_is_no_table_stands_before_tables_wherever_it_was() -> None:
    given = {"list": [{"a": 1}], "table": {"b": "x"}, "plain": True, "empty": []}
    assert toml_text(given) == 'plain = true\nempty = []\n\n[[list]]\na = 1\n\n[table]\nb = "x"\n'


def test_large_numbers_are_easy_to_read() -> None:
    assert toml_text({"tokens": 40000, "share": 0.25}) == "tokens = 40_000\nshare = 0.25\n"


def test_what_toml_has_no_word_for_is_left_out() -> None:
    assert toml_text({"nothing": None, "table": {"nothing": None, "a": 1}}) == "[table]\na = 1\n"


def test_tuples_are_lists() -> None:
    assert toml_text({"tools": ("skill", "read")}) == 'tools = ["skill", "read"]\n'
