"""On a terminal of 60 or 80 columns no command prints a longer line, and none cuts a word."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from cli.commands.check import _sessions_table
from projections.audit.checks import CheckResult, SessionChecks
from tests.cli.golden import transcript
from tests.cli.golden.scenes import SCENES
from tests.cli.running import Refold
from tests.cli.views.printing import printed as printed_view
from tests.support import pi_files
from tests.support.talk import assistant, call, result, user

AS_THEY_ARE = re.compile(
    r"--(json|raw|format (?!text)\S+)|^completion|^policies show|^templates show|-o -|^maintain|^append"
)
"""Command lines whose output is for programs, and printed as it is."""
PASSING = re.compile(r"[━⠀-⣿]")
"""Lines that are wiped away again: bars, and what is waited for."""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
PART_OF_A_TIME = re.compile(r"\d\d[-:]\d\d|AGE|\d+[mhdwy]")
"""Parts of times, and the ages that stand for times where these have no room."""
PLOTTED = re.compile("[▁-█└─]+")
"""Columns of a plot, which a narrow terminal has fewer of."""
CHANGING = {r"(refold-demo-)\w+": "refold-demo-12345678"}
"""Patterns of text that differs between runs, with replacements of the same length."""


def printed(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command line of a transcript with the lines that it printed."""
    command, lines = "", list[str]()
    for line in [*CONTROL.sub("", text).splitlines(), "$"]:
        if line.startswith(("$", "#", "< ")):
            if line.startswith("$"):
                yield command, lines
                command, lines = line.partition("refold ")[2], []
        elif line and not PASSING.search(line):
            lines.append(line.removeprefix("!").removeprefix(" "))


def is_unbreakable(line: str) -> bool:
    """Return True for a line of one word, or of a command that is to be pasted."""
    return len(line.split()) == 1 or bool(re.search(r"(^ *|[:;] )refold ", line))


@pytest.mark.parametrize("columns", [pytest.param(60, marks=pytest.mark.slow), 80])
@pytest.mark.parametrize("name", SCENES)
def test_no_line_is_longer_than_the_terminal_and_no_word_is_cut(name: str, columns: int) -> None:
    whole = set(transcript(SCENES[name], changing=CHANGING).split())
    wrong = []
    for command, lines in printed(transcript(SCENES[name], columns=columns, changing=CHANGING)):
        if AS_THEY_ARE.search(command):
            continue
        for line in lines:
            if len(line) > columns and not is_unbreakable(line):
                wrong.append(f"{command}: too long: {line}")
            words = (word for word in line.split() if "…" not in word and not PART_OF_A_TIME.fullmatch(word))
            words = (word for word in words if not PLOTTED.fullmatch(word))
            wrong += [f"{command}: cut: {word}" for word in words if word not in whole]
    assert "\n".join(wrong) == ""


IDS = [f"93892468-9c4f-4fcb-8ca1-{number:012}" for number in range(12)]
LONG = "/home/alex/projects/limiter/" + "a-folder-with-a-long-name/" * 4


@pytest.fixture
def wide(refold: Refold) -> Refold:
    """A compacted session with long ids and paths, for a terminal of 80 columns."""
    read = assistant(call("read", "c1", path=f"{LONG}parser.py"))
    messages = [user("go"), read, result("x = 1", tool="read", call_id="c1"), *[user("go on")] * 3]
    records = [
        {"type": "message", "id": name, "message": message}
        for name, message in zip(IDS, messages, strict=False)
    ]
    summary = {"summary": "parser.py is read.", "firstKeptEntryId": IDS[4], "tokensBefore": 99}
    records.append({"type": "compaction", "id": IDS[9], **summary})
    refold("append", "wide", stdin=b"".join(map(pi_files.line, records)))
    refold.columns = 80
    return refold


def test_a_path_too_long_for_a_line_of_files_shows_its_end(wide: Refold) -> None:
    (shown,) = CONTROL.sub("", wide("files", "wide").out).splitlines()
    assert len(shown) <= 80
    assert shown.startswith("read      …/a-folder")
    assert shown.endswith("/parser.py")


@pytest.mark.parametrize("command", ["diff talk root #3", "tree talk --full", "context talk"])
def test_a_narrow_terminal_shows_unique_beginnings_of_long_ids(refold: Refold, command: str) -> None:
    rest = "-8ca1-ec4cdd8e7b79"
    names = [f"{each}{rest}" for each in ("93892468-9c4f-4fcb", "93892468-9c40-4fcb", "f0000000-9c4f-4fcb")]
    records = [{"type": "message", "id": name, "message": user("go")} for name in names]
    refold("append", "talk", stdin=b"".join(map(pi_files.line, records)))
    assert all(name in refold(*command.split()).out for name in names)
    refold.columns = 80
    shown = CONTROL.sub("", refold(*command.split()).out).split()
    listed = [each for each in shown if each[:8] in (names[0][:8], names[-1][:8])]
    assert listed[:3] == ["93892468-9c4f", "93892468-9c40", "f0000000"]


def test_a_table_of_checks_with_thousands_fits() -> None:
    found = [
        SessionChecks(
            session=f"6113e919-67d{number}-417b-b525-c63700228d19",
            harness="pi",
            results=[
                CheckResult(name=name, exact=True, checked=43_210, passed=43_210, worst=None, failures=[])
                for name in (
                    "message counts",
                    "cached prefixes",
                    "compacted contexts",
                    "claimed sizes",
                    "size jumps",
                )
            ],
        )
        for number in range(2)
    ]
    assert max(map(len, printed_view(lambda out: out.print(_sessions_table(found)), width=80))) <= 80


@pytest.mark.slow
def test_variants_with_long_names_fit(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    variants = ("--with", "refold:compaction@extractive", "--with", "refold:nine-sections@extractive")
    text = refold.on_terminal(
        "replay", "@last", "--at", "recorded", "--keep-recent", "1000", *variants, columns=80
    )
    lines = [line for line in CONTROL.sub("", text).splitlines() if not PASSING.search(line)]
    assert any("LEFT" in line and "KEPT" in line for line in lines)
    assert max(map(len, lines)) <= 80
