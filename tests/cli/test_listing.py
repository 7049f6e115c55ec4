"""Tables on terminals of different widths."""

from __future__ import annotations

import io

from rich.text import Text

from cli.terminal import CutLine, HarmlessConsole, Listing
from tests.cli.audit_view.printing import printed
from tests.cli.running import Refold


def shown(listing: Listing, width: int) -> list[str]:
    return printed(lambda out: out.print(listing, crop=False), width=width)


def prices(more: str) -> Listing:
    listing = Listing(("NAME", "PRICE", "FROM", "ABOUT"), right=("PRICE",), shrinks="")
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
    listing = Listing(
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


def test_times_stay_whole() -> None:
    listing = Listing(("#", "TIME", "WHAT"), right=("#",), shrinks="")
    listing.add_row("1", "2025-12-08 22:41:03", "one of several words")
    assert shown(listing, 36)[1] == "1  2025-12-08 22:41:03  one of"


def test_no_line_ends_in_spaces() -> None:
    out = HarmlessConsole(file=io.StringIO(), width=80, color_system=None)
    out.print(prices(""))
    assert isinstance(out.file, io.StringIO)
    assert [line for line in out.file.getvalue().split("\n") if line.endswith(" ")] == []


def test_names_stay_whole_where_a_terminal_has_no_room_for_them() -> None:
    assert all(line.startswith(("NAME", "bicycle-bell  1,250", " ")) for line in shown(prices("x " * 20), 20))
    assert len(shown(prices("x " * 20), 20)[1]) > 20


def test_a_column_that_is_to_shrink_gives_way_before_a_wider_one() -> None:
    listing = Listing(("NAME", "LOST", "WHY"), right=(), shrinks="LOST")
    listing.add_row("a", Text("b" * 20, no_wrap=True, overflow="ellipsis"), "c" * 24)
    assert shown(listing, 45) == [
        "NAME  LOST           WHY",
        f"a     {'b' * 12}…  {'c' * 24}",
    ]


def test_ids_of_events_stay_whole_behind_their_numbers() -> None:
    listing = Listing(("#", "EVENT", "CHANGE"), right=("#",), shrinks="")
    listing.add_row("1", "0199aaaa-0000-7000-8000-000000000001", "summarized with others")
    assert shown(listing, 56)[1] == "1  0199aaaa-0000-7000-8000-000000000001  summarized with"


def test_the_lists_of_policies_and_templates_name_them_whole_on_a_narrow_terminal(refold: Refold) -> None:
    refold("policies", "new", "mine")
    for group in ("policies", "templates"):
        names = [each["name"] for each in refold(group, "--json").json[group]]
        printed_lines = refold.on_terminal(group, columns=80).splitlines()
        assert [name for name in names if not any(line.startswith(name) for line in printed_lines)] == []


def test_a_path_in_a_column_that_gives_way_keeps_its_end() -> None:
    listing = Listing(("NAME", "LOST", "WHY"), right=(), shrinks="LOST")
    listing.add_row("a", CutLine("/home/me/src/formats/pi_entry.py"), "c" * 24)
    assert shown(listing, 56)[1] == f"a     …/formats/pi_entry.py     {'c' * 24}"
    assert shown(listing, 100)[1] == f"a     /home/me/src/formats/pi_entry.py  {'c' * 24}"
