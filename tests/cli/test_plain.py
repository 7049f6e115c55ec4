from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

import cli
from cli.output import HANDLER, never_failing
from tests.cli.invocations import NAMES, invocations, line_for
from tests.cli.running import Refold
from tests.cli.tale import SESSION, write

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


@pytest.mark.parametrize("name", NAMES)
def test_every_command_works_where_the_output_is_ascii(told: Refold, tmp_path: Path, name: str) -> None:
    write(tmp_path / "tale.jsonl")
    outcome = told.program(
        *invocations(SESSION)[name], stdin=line_for(name).encode(), PYTHONIOENCODING="ascii", LC_ALL="C"
    )
    assert outcome.raw.isascii()
    assert outcome.errors == ""


def test_in_the_c_locale_output_is_still_utf_8(told: Refold) -> None:
    assert "∑" in told.program("tree", SESSION, LC_ALL="C").out


def test_an_error_is_told_where_stderr_is_ascii(told: Refold) -> None:
    outcome = told.program("tree", "für", code=1, PYTHONIOENCODING="ascii")
    assert (outcome.errors.isascii(), "'f\\xfcr'" in outcome.errors) == (True, True)
