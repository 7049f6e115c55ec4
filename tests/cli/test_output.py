"""Output: JSON, text that is safe for terminals, tables, colours, pagers, ASCII."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cli
from cli.output import (
    HANDLER,
    console,
    counted,
    echo_json,
    json_list,
    never_failing,
    one_line,
    printable,
    safe_line,
    table,
    thousands,
    when,
    wrapped,
)
from tests.cli.invocations import NAMES, invocations, line_for
from tests.cli.running import Refold
from tests.cli.tale import SESSION, write

ESCAPE = "\x1b"
texts = st.text(st.characters(categories=["L", "Nd", "Zs", "Cc", "Cf", "Cs", "So"]), max_size=40)


@pytest.mark.parametrize("elements", [[], [{"a": 1}], ["one", "two", 3]])
def test_a_list_of_json_texts_is_one_line_of_json(elements: list[object], capfdbinary) -> None:
    with json_list("elements") as add:
        for each in elements:
            add(json.dumps(each).encode())
    printed = capfdbinary.readouterr().out
    assert json.loads(printed) == {"elements": elements}
    assert printed.count(b"\n") == 1


def test_a_list_that_fails_is_no_json(capfdbinary) -> None:
    def fail() -> None:
        with json_list("elements") as add:
            add(b"1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert capfdbinary.readouterr().out == b'{"elements":[1'


@given(texts)
def test_printable_text_moves_no_cursor_and_turns_no_direction(text: str) -> None:
    for character in printable(text):
        assert character.isprintable() or character in "\n\t\u200c\u200d"


@given(texts)
def test_printable_text_has_an_encoding(text: str) -> None:
    shown = printable(text)
    assert shown.encode().decode() == shown


@given(st.text(st.characters(categories=["L", "Nd", "P", "So"]), max_size=40))
def test_text_that_does_no_harm_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\x00b\x07c\x7f", "a\\x00b\\x07c\\x7f"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202eevil", "\\u202eevil"),
        ("\ud83d", "\\ud83d"),
        ("\U000e0001", "\\U000e0001"),
        ("a\r\nb\tc", "a \nb\tc"),
        ("a\xa0b\u3000c", "a b c"),
        ("👩\u200d💻 क\u200cष", "👩\u200d💻 क\u200cष"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_text_made_one_line_has_single_spaces_and_a_sign_where_it_was_cut() -> None:
    assert one_line("  a\n\tb  c ", 10) == "a b c"
    assert one_line("abcdefgh", 5) == "abcd…"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("/home/me/src/formats/pi_entry.py", 25, "…/src/formats/pi_entry.py"),
        ("/home/me/src/formats/pi_entry.py", 24, "…/formats/pi_entry.py"),
        ("src/formats/pi_entry.py", 12, "…pi_entry.py"),
        ("src/formats/pi_entry.py", 8, "…ntry.py"),
        ("→ read /home/me/src/formats/pi_entry.py", 30, "→ read …/formats/pi_entry.py"),
        ("→ read ./me/src/formats/a.py, edit ~/me/src/b.py", 40, "→ read …/formats/a.py, edit …/src/b.py"),
        ("→ read /home/me/src/formats/pi_entry.py", 22, "→ read …/pi_entry.py"),
        ("→ read /home/me/src/formats/pi_entry.py", 17, "→ read …_entry.py"),
        ("→ read /home/me/src/formats/pi_entry.py", 12, "→ read …/pi…"),
        ("The file /home/me/src/formats/pi_entry.py is done.", 21, "The file …i_entry.py…"),
        (f"→ read /{'folder/' * 80}pi_entry.py", 22, "→ read …/pi_entry.py"),
        ('{"a":"b","c":"d/e/f/g/h"}', 10, '{"a":"b",…'),
        ("→ read src/formats/pi_entry.py", 20, "→ read …/pi_entry.py"),
        ("https://host/a/b/c/d/e", 12, "https://hos…"),
        ("see https://host/a/b/c/d/e", 14, "see https://h…"),
        ("/home/me/src/formats/pi_entry.py", 40, "/home/me/src/formats/pi_entry.py"),
    ],
)
def test_a_path_that_is_cut_keeps_its_end(text: str, width: int, shown: str) -> None:
    assert one_line(text, width) == shown


@given(texts, st.integers(2, 30))
def test_one_line_is_one_line_and_no_wider_than_asked_for(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert len(line.splitlines()) <= 1


@given(texts)
def test_unbroken_text_is_one_line(text: str) -> None:
    assert "\n" not in safe_line(text)


def test_numbers_have_separators_and_none_is_a_dash() -> None:
    assert [thousands(1234567), thousands(0), thousands(None)] == ["1,234,567", "0", "-"]


def test_what_is_counted_is_in_the_singular_or_the_plural() -> None:
    assert [counted(1, "entry", "entries"), counted(1200, "entry", "entries"), counted(0, "token")] == [
        "1 entry",
        "1,200 entries",
        "0 tokens",
    ]


def test_a_tab_is_wrapped_as_the_columns_that_it_takes() -> None:
    text = "\t".join(["word"] * 8)
    lines = wrapped(text, 40, hanging=0).expandtabs().split("\n")
    assert max(map(len, lines)) <= 40
    assert " ".join(lines).split() == text.split()
    assert wrapped("a\tb", 40) == "a\tb"


def test_times_for_people_are_utc_to_the_second() -> None:
    assert [when(1765231212999), when(None), when(10**18)] == ["2025-12-08 22:00:12", "-", "-"]


def echoed(value: object, capfdbinary: pytest.CaptureFixture[bytes]) -> bytes:
    echo_json(value)
    sys.stdout.flush()
    return capfdbinary.readouterr().out


def test_json_is_one_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert echoed({"a": "x\ny", "b": None}, capfdbinary) == b'{"a":"x\\ny","b":null}\n'


@pytest.mark.parametrize(
    "value", ["\ud800", {"a": "x\udc00y", "b": 10**30}, ["\ud83d\ude00", 1.5, None, True]]
)
def test_what_has_no_utf_8_is_json_all_the_same(
    value: object, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert json.loads(echoed(value, capfdbinary), parse_int=float) == json.loads(
        json.dumps(value), parse_int=float
    )


def test_json_that_is_there_already_goes_beside_what_has_no_utf_8(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    value = {"raw": msgspec.Raw(b'{"x": [1, "\\ud800"]}'), "text": "\ud800"}
    assert json.loads(echoed(value, capfdbinary)) == {"raw": {"x": [1, "\ud800"]}, "text": "\ud800"}


def test_an_infinite_number_is_null(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert echoed([float("inf"), "\ud800"], capfdbinary) == b'[null,"\\ud800"]\n'


def test_off_a_terminal_lines_are_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    listing = table("NAME")
    listing.add_row("x" * 5000)
    console().print(listing)
    assert "x" * 5000 in capsys.readouterr().out


def test_a_tables_numbers_stand_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    listing = table("NAME", "SIZE", right=("SIZE",))
    listing.add_row("a", "1")
    listing.add_row("bcdef", "12,345")
    console().print(listing)
    assert capsys.readouterr().out.splitlines() == ["NAME     SIZE", "a           1", "bcdef  12,345"]


COLOURED = ["tree", "context", "audit", "sessions"]


@pytest.mark.slow
@pytest.mark.parametrize("name", COLOURED)
def test_on_a_terminal_there_are_colours(told: Refold, name: str) -> None:
    assert ESCAPE in told.on_terminal(name, *([] if name == "sessions" else [SESSION]))


@pytest.mark.slow
@pytest.mark.parametrize("name", COLOURED)
def test_off_a_terminal_there_are_no_colours(told: Refold, name: str) -> None:
    assert ESCAPE not in told.program(name, *([] if name == "sessions" else [SESSION])).out


@pytest.mark.slow
def test_a_person_who_wants_no_colours_gets_none(told: Refold) -> None:
    assert "\x1b[3" not in told.on_terminal("tree", SESSION, NO_COLOR="1")


PAGED = [
    ["tree", SESSION],
    ["log", SESSION],
    ["context", SESSION],
    ["audit", SESSION],
    ["diff", SESSION, "u1", "u3"],
    ["show", SESSION, "u1"],
    ["files", SESSION],
    ["sessions"],
]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", PAGED, ids=[each[0] for each in PAGED])
def test_on_a_terminal_a_long_listing_goes_through_the_persons_pager(
    told: Refold, arguments: list[str]
) -> None:
    paged = told.on_terminal(*arguments, PAGER="sed 's/^/PAGED /'")
    assert all(line.startswith("PAGED ") for line in paged.splitlines())
    assert paged


@pytest.mark.slow
def test_off_a_terminal_nothing_goes_through_a_pager(told: Refold) -> None:
    assert "PAGED" not in told.program("tree", SESSION, PAGER="sed 's/^/PAGED /'").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "target", "shown"),
    [("verify", [], "verifying"), ("backup", ["copy"], "verifying"), ("push", ["copy"], "copying")],
)
def test_on_a_terminal_progress_is_shown_and_off_one_it_is_not(
    told: Refold, command: str, target: list[str], shown: str
) -> None:
    assert told.program(command, *target).errors == ""
    another = [f"another-{name}" for name in target]
    assert shown in told.on_terminal(command, *another)


NARROW = [["log", SESSION], ["tree", SESSION], ["audit", SESSION], ["sessions"]]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", NARROW, ids=[each[0] for each in NARROW])
def test_lines_fit_a_terminal_of_80_columns(told: Refold, arguments: list[str]) -> None:
    told(
        "label",
        SESSION,
        "--title",
        "A title that is as long as titles get when a person writes all that there is to say",
    )
    for line in told.on_terminal(*arguments, NO_COLOR="1", TERM="dumb").splitlines():
        assert len(line) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["0", "-3"])
def test_a_width_that_no_terminal_has_is_ignored(told: Refold, columns: str) -> None:
    assert told.on_terminal("sessions", COLUMNS=columns) == told.on_terminal("sessions")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_id_that_a_list_shows_of_a_session_names_it(told: Refold, columns: int) -> None:
    told("fork", SESSION, "--as", SESSION.replace("0000-7", "1000-7"))
    names = [line.split()[0] for line in told.on_terminal("sessions", columns=columns).splitlines()[-2:]]
    found = [told("files", name, "--json").json["session"] for name in names]
    assert sorted(found) == [SESSION, SESSION.replace("0000-7", "1000-7")]


def test_json_is_the_same_on_a_terminal(told: Refold) -> None:
    assert json.loads(told.on_terminal("tree", SESSION, "--json")) == told("tree", SESSION, "--json").json


# Everything that is drawn with: what the sources of the views hold beyond ASCII.
DRAWN = sorted(
    {
        character
        for source in Path(cli.__file__).parent.glob("*.py")
        for literal in re.findall(r'"[^"\n]*"', source.read_text(encoding="utf-8"))
        for character in literal
        if ord(character) > 127
    }
)


@pytest.fixture(autouse=True)
def registered() -> None:
    never_failing(io.StringIO())


@pytest.mark.parametrize("sign", DRAWN)
def test_every_sign_that_refold_draws_with_has_a_plain_one_like_it(sign: str) -> None:
    assert "\\" not in sign.encode("ascii", HANDLER).decode()


def test_other_characters_become_escapes() -> None:
    assert "für 日本".encode("ascii", HANDLER) == rb"f\xfcr \u65e5\u672c"


def test_half_a_surrogate_pair_becomes_an_escape_in_utf_8_too() -> None:
    assert "a\ud800b".encode("utf-8", HANDLER) == rb"a\ud800b"


def test_what_cannot_be_decoded_is_an_error_as_ever() -> None:
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", HANDLER)


def test_a_stream_that_was_made_so_raises_nothing() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    never_failing(stream)
    stream.write("… ∑ \ud800")
    stream.flush()
    assert stream.buffer.getvalue() == rb"... S \ud800"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_command_works_where_the_output_is_ascii(told: Refold, tmp_path: Path, name: str) -> None:
    write(tmp_path / "tale.jsonl")
    outcome = told.program(
        *invocations(SESSION)[name], stdin=line_for(name).encode(), PYTHONIOENCODING="ascii", LC_ALL="C"
    )
    assert outcome.raw.isascii()
    assert outcome.errors == ""


@pytest.mark.slow
def test_in_the_c_locale_output_is_still_utf_8(told: Refold) -> None:
    assert "∑" in told.program("tree", SESSION, LC_ALL="C").out


def test_an_error_is_reported_where_stderr_is_ascii(told: Refold) -> None:
    outcome = told.program("tree", "für", code=1, PYTHONIOENCODING="ascii")
    assert (outcome.errors.isascii(), "'f\\xfcr'" in outcome.errors) == (True, True)
