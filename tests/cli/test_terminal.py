"""Tables on terminals of different widths."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from cli.terminal import CutLine, FittedTable, SafeConsole
from tests.cli.hostile import FIRST, SESSION, hostile
from tests.cli.invocations import NAMES, invocations, json_option, line_for
from tests.cli.running import Refold
from tests.cli.views.printing import printed


def shown(listing: FittedTable, width: int) -> list[str]:
    return printed(lambda out: out.print(listing, crop=False), width=width)


def prices(more: str) -> FittedTable:
    listing = FittedTable(("NAME", "PRICE", "FROM", "ABOUT"), right=("PRICE",), shrinks="")
    listing.add_row("bicycle-bell", "1,250", "the north", more)
    return listing


def test_where_there_is_room_nothing_is_cut_or_wrapped() -> None:
    assert shown(prices("rings"), 80) == [
        "NAME          PRICE  FROM       ABOUT",
        "bicycle-bell  1,250  the north  rings",
    ]


def test_the_widest_prose_goes_on_in_the_next_line_and_names_and_numbers_stay_whole() -> None:
    assert shown(prices("it rings when somebody pulls"), 50) == [
        "NAME          PRICE  FROM       ABOUT",
        "bicycle-bell  1,250  the north  it rings when",
        "                                somebody pulls",
    ]


def test_where_that_does_not_do_columns_are_left_out_in_the_order_given() -> None:
    listing = FittedTable(
        ("NAME", "PRICE", "KEPT", "STOCK"),
        right=("PRICE", "KEPT", "STOCK"),
        shrinks="",
        drops=("STOCK", "PRICE"),
    )
    listing.add_row("bicycle-bell", "1,250", "12", "99")
    assert [shown(listing, width)[1] for width in (32, 31, 25, 23)] == [
        "bicycle-bell  1,250    12     99",
        "bicycle-bell  1,250    12",
        "bicycle-bell  1,250    12",
        "bicycle-bell    12",
    ]


def test_a_word_that_no_line_has_room_for_is_cut_in_the_column_that_shrinks() -> None:
    listing = FittedTable(("NAME", "PRICE", "FROM"), right=("PRICE",), shrinks="FROM")
    listing.add_row("bicycle-bell", "1,250", "the north-by-northeast-coast, thenorthofthenorth")
    assert shown(listing, 40) == [
        "NAME          PRICE  FROM",
        "bicycle-bell  1,250  the",
        "                     north-by-northeast…",
        "                     thenorthofthenorth",
    ]


def test_times_stay_whole() -> None:
    listing = FittedTable(("#", "TIME", "WHAT"), right=("#",), shrinks="")
    listing.add_row("1", "2025-12-08 22:41:03", "one of several words")
    assert shown(listing, 36)[1] == "1  2025-12-08 22:41:03  one of"


def test_no_line_ends_in_spaces() -> None:
    out = SafeConsole(file=io.StringIO(), width=80, color_system=None)
    out.print(prices(""))
    assert isinstance(out.file, io.StringIO)
    assert [line for line in out.file.getvalue().split("\n") if line.endswith(" ")] == []


def test_names_stay_whole_where_a_terminal_has_no_room_for_them() -> None:
    assert all(line.startswith(("NAME", "bicycle-bell  1,250", " ")) for line in shown(prices("x " * 20), 20))
    assert len(shown(prices("x " * 20), 20)[1]) > 20


def test_a_column_that_is_to_shrink_gives_way_before_a_wider_one() -> None:
    listing = FittedTable(("NAME", "LOST", "WHY"), right=(), shrinks="LOST")
    listing.add_row("a", Text("b" * 20, no_wrap=True, overflow="ellipsis"), "c" * 24)
    assert shown(listing, 45) == [
        "NAME  LOST           WHY",
        f"a     {'b' * 12}…  {'c' * 24}",
    ]


def test_ids_of_events_stay_whole_behind_their_numbers() -> None:
    listing = FittedTable(("#", "EVENT", "CHANGE"), right=("#",), shrinks="")
    listing.add_row("1", "0199aaaa-0000-7000-8000-000000000001", "summarized with others")
    assert shown(listing, 56)[1] == "1  0199aaaa-0000-7000-8000-000000000001  summarized with"


@pytest.mark.slow
def test_the_lists_of_policies_and_templates_name_them_whole_on_a_narrow_terminal(refold: Refold) -> None:
    refold("policies", "new", "mine")
    for group in ("policies", "templates"):
        names = [each["name"] for each in refold(group, "--json").json[group]]
        printed_lines = refold.on_terminal(group, columns=80).splitlines()
        assert [name for name in names if not any(line.startswith(name) for line in printed_lines)] == []


def test_a_path_in_a_column_that_gives_way_keeps_its_end() -> None:
    listing = FittedTable(("NAME", "LOST", "WHY"), right=(), shrinks="LOST")
    listing.add_row("a", CutLine("/home/me/src/formats/pi_entry.py"), "c" * 24)
    assert shown(listing, 56)[1] == f"a     …/formats/pi_entry.py     {'c' * 24}"
    assert shown(listing, 100)[1] == f"a     /home/me/src/formats/pi_entry.py  {'c' * 24}"


# Styles of rich are the only escape sequences that a terminal may be sent.
STYLE = re.compile(r"\x1b\[[0-9;]*m")
PROGRESS = re.compile(r"\x1b\[(\?25[lh]|2K|1A)|\r")
COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

texts = st.text(st.characters(exclude_categories=[]), max_size=30)


@pytest.fixture
def attacked(refold: Refold, tmp_path: Path) -> Refold:
    (tmp_path / "hostile.jsonl").write_bytes(hostile())
    refold("sync", "hostile.jsonl")
    return refold


@given(texts)
def test_no_text_gets_through_a_console_as_a_command(text: str) -> None:
    out = SafeConsole(file=io.StringIO(), width=100, markup=False, force_terminal=False, color_system=None)
    listing = Table()
    listing.add_row(text)
    for each in (text, Text(text, style="red"), listing):
        out.print(each)
    assert isinstance(out.file, io.StringIO)
    assert not COMMANDING.search(out.file.getvalue())


def test_styles_of_our_own_get_through() -> None:
    out = SafeConsole(file=io.StringIO(), force_terminal=True, color_system="standard")
    out.print(Text("red", style="red"))
    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue() == "\x1b[31mred\x1b[0m\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_session_is_shown_and_commands_nothing(attacked: Refold, name: str) -> None:
    arguments = invocations("hostile", file="hostile.jsonl")[name]
    outcome = attacked(*arguments, stdin=line_for(name))
    assert not COMMANDING.search(outcome.out)
    assert outcome.errors == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log", "tree", "context", "audit", "diff", "show", "files", "verify"])
def test_on_a_terminal_a_hostile_session_is_sent_no_escape_but_styles(attacked: Refold, name: str) -> None:
    printed = attacked.on_terminal(*invocations("hostile")[name], columns=80)
    assert not COMMANDING.search(PROGRESS.sub("", STYLE.sub("", printed)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log", "tree", "context", "audit", "show"])
def test_on_a_terminal_json_of_a_hostile_session_commands_nothing(attacked: Refold, name: str) -> None:
    printed = attacked.on_terminal(*invocations("hostile")[name], "--json")
    assert not COMMANDING.search(printed)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_json_of_a_hostile_session_is_json(attacked: Refold, name: str) -> None:
    arguments = invocations("hostile", file="hostile.jsonl")[name]
    assert attacked(*arguments, *json_option(name), stdin=line_for(name)).json_lines


@pytest.mark.slow
def test_on_a_terminal_a_context_for_programs_commands_nothing(attacked: Refold) -> None:
    assert not COMMANDING.search(attacked.on_terminal("context", "hostile", "--format", "pi"))


def test_off_a_terminal_a_context_for_programs_is_what_the_model_saw(attacked: Refold) -> None:
    given = attacked("context", "hostile", "--leaf", "e6", "--format", "pi").json
    assert given["messages"][0]["content"] == json.loads(hostile().splitlines()[1])["message"]["content"]


def test_markup_of_rich_is_shown_as_it_stands(attacked: Refold) -> None:
    assert "[red]not red[/red] [link=x] [bold" in attacked("tree", "hostile", "--full").out


def test_a_name_of_several_lines_forges_no_line(attacked: Refold) -> None:
    for name in ("tree", "log", "diff", "files", "stats"):
        for line in attacked(*invocations("hostile")[name]).lines:
            assert not line.startswith("forged"), name


def test_a_hostile_name_in_an_error_is_shown_on_one_line(attacked: Refold) -> None:
    outcome = attacked("export", "hostile", "-o", f"gone{FIRST}/x".replace("\0", ""), code=1)
    assert outcome.errors.count("\n") == 1
    assert not COMMANDING.search(outcome.errors)


def test_a_hostile_session_is_meant_by_its_id(attacked: Refold) -> None:
    assert attacked("tree", SESSION, "--json").json["roots"] == [FIRST]


def test_a_hostile_session_comes_back_byte_for_byte(attacked: Refold) -> None:
    assert attacked("export", "hostile", "-o", "-").raw == hostile()


def test_very_long_lines_are_cut_where_a_line_is_a_listing(attacked: Refold) -> None:
    for name in ("log", "tree"):
        assert max(map(len, attacked(*invocations("hostile")[name]).lines)) < 300
