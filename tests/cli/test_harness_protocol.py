"""Lines that are read while those before them are answered."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.harness_protocol import ReadAheadLines, load_settings, parse_settings
from compaction.maintainer import BranchSummaries, Promotion, Settings
from compaction.part import Limits
from compaction.validation import InvalidInputError
from eventstore.errors import BadInputError
from tests.support.patience import comes

ALL = """
enabled = false
strategy = "handoff"
reserve_tokens = 1_000
keep_recent_tokens = 2_000
threshold_percent = 80
threshold_tokens = 3_000
auto_continue = false
remote_enabled = false
remote_endpoint = "http://127.0.0.1/sum"
idle_enabled = true
idle_threshold_tokens = 4_000
idle_timeout_seconds = 5
most_failures = 6
subtracts_savings = false

[promotion]
model = "vast"
window = 1_000_000
output = 64_000

[branch_summary]
enabled = true
reserve_tokens = 7_000
"""


@pytest.fixture
def written(tmp_path: Path):
    """From what a file says to its settings."""

    def written(text: str) -> Settings:
        (tmp_path / "settings.toml").write_text(text)
        return load_settings(str(tmp_path / "settings.toml"))

    return written


def test_every_setting_can_be_written_down(written):
    assert written(ALL) == Settings(
        enabled=False,
        strategy="handoff",
        reserve_tokens=1_000,
        keep_recent_tokens=2_000,
        threshold_percent=80,
        threshold_tokens=3_000,
        auto_continue=False,
        remote_enabled=False,
        remote_endpoint="http://127.0.0.1/sum",
        idle_enabled=True,
        idle_threshold_tokens=4_000,
        idle_timeout_seconds=5,
        most_failures=6,
        subtracts_savings=False,
        promotion=Promotion(model="vast", window=1_000_000, output=64_000),
        branch_summary=BranchSummaries(enabled=True, reserve_tokens=7_000),
    )


def test_every_setting_may_go_by_the_name_that_it_has_in_oh_my_pi(written):
    camel = re.sub(r"_([a-z])", lambda found: found[1].upper(), ALL)
    assert "reserveTokens = 1_000" in camel
    assert written(camel) == written(ALL)


def test_all_that_there_are_were_tried():
    assert all(f"{name} =" in ALL or f"[{name}]" in ALL for name in Settings.__struct_fields__)


def test_an_empty_file_sets_nothing(written):
    assert written("") == Settings()


"""The text of a file, the key that is wrong in it, and a text that the error names."""


@pytest.mark.parametrize("text", ["[[[", "enabled = true\nenabled = true", "enabled = " + "[" * 5_000])
def test_what_is_no_toml_is_reported_with_its_file(written, tmp_path, text):
    with pytest.raises(BadInputError) as raised:
        written(text)
    assert raised.value.source == str(tmp_path / "settings.toml")


def test_all_that_is_wrong_is_reported_a_line_each_by_the_files_own_keys(written):
    with pytest.raises(InvalidInputError) as raised:
        written(
            "thresholdPercent = 'x'\nenabledd = true\nmostFailures = 1\nmost_failures = 0\n"
            "[branchSummary]\nreserveTokens = -1\n[promotion]\nmodel = 'x'"
        )
    assert [fault.where for fault in raised.value.issues] == [
        "most_failures",
        "thresholdPercent",
        "enabledd",
        "most_failures",
        "[branchSummary] reserveTokens",
        "[promotion] window",
    ]
    assert len(raised.value.lines) == 6
    assert "\n" not in str(raised.value)


_keys = st.sampled_from([*Settings.__struct_fields__, "reserveTokens", "model", "window", "output", "x"])
_values = st.recursive(
    st.booleans() | st.integers(-2, 101) | st.floats() | st.sampled_from(["off", "http://x", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(_keys, _values, max_size=4))
def test_whatever_a_table_says_it_is_settings_or_what_is_wrong_is_reported(table):
    source = "here"
    try:
        parse_settings(table, "here")
    except BadInputError as error:
        source = error.source
    assert source == "here"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("reserveTokens = 8_000", "reserveTokens"),
        ("keep_recent_tokens = 8_000", "keep_recent_tokens"),
        ("[branch_summary]\nreserve_tokens = 8_000", "[branch_summary] reserve_tokens"),
    ],
)
def test_what_the_models_window_is_too_small_for_is_reported_with_its_key(tmp_path, text, key):
    (tmp_path / "settings.toml").write_text(text)
    assert load_settings(str(tmp_path / "settings.toml"), Limits(window=8_001))
    with pytest.raises(InvalidInputError) as raised:
        load_settings(str(tmp_path / "settings.toml"), Limits(window=8_000))
    (fault,) = raised.value.issues
    assert (fault.where, fault.problem.count("8,000")) == (key, 2)


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_file_that_is_not_there_or_no_text_is_reported(tmp_path, content):
    if content is not None:
        (tmp_path / "settings.toml").write_bytes(content)
    with pytest.raises(BadInputError) as raised:
        load_settings(str(tmp_path / "settings.toml"))
    assert raised.value.source == str(tmp_path / "settings.toml")


class Piped(NamedTuple):
    """The writing end of a pipe, and the lines that are read ahead from it."""

    writer: BinaryIO
    lines: ReadAheadLines[Line]
    taken: Iterator[Line]


@pytest.fixture
def piped() -> Iterator[Piped]:
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as reader:
        lines = ahead(reader)
        with os.fdopen(writes, "wb", buffering=0) as writer:
            taken = iter(lines)
            yield Piped(writer, lines, taken)
        # Read to the end first, so that no thread still reads when the pipe is closed.
        list(taken)


class Line(NamedTuple):
    """A line as it stands there, and its number; one that begins so calls off."""

    text: bytes
    number: int

    @property
    def cancels(self) -> bool:
        return self.text.startswith(b"off")


def ahead(stream: BinaryIO) -> ReadAheadLines[Line]:
    return ReadAheadLines(stream, Line)


def test_they_come_in_order_and_the_last_needs_no_end() -> None:
    assert list(ahead(io.BytesIO(b"one\n\ntwo"))) == [(b"one\n", 1), (b"\n", 2), (b"two", 3)]


def test_one_comes_before_there_is_another(piped: Piped) -> None:
    for line in (b"one\n", b"two\n"):
        piped.writer.write(line)
        assert next(piped.taken).text == line


def test_each_is_read_once() -> None:
    read: list[bytes] = []

    def noted(line: bytes, number: int) -> Line:
        read.append(line)
        return Line(line, number)

    list(ReadAheadLines(io.BytesIO(b"one\noff\n"), noted))
    assert read == [b"one\n", b"off\n"]


def test_one_that_waits_calls_off_what_is_at_hand_and_not_itself(piped: Piped) -> None:
    writer, lines, taken = piped
    writer.write(b"one\n")
    next(taken)
    assert not lines.is_cancelled()
    writer.write(b"two\noff\n")
    assert comes(lines.is_cancelled)
    assert (next(taken).text, lines.is_cancelled()) == (b"two\n", True)
    assert (next(taken).text, lines.is_cancelled()) == (b"off\n", False)


class Broken(io.RawIOBase):
    """An input that ends badly."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        del buffer
        raise OSError(5, "Input/output error")


def test_what_goes_wrong_in_reading_goes_to_who_takes_the_lines() -> None:
    with pytest.raises(OSError, match="Input/output error"):
        list(ahead(io.BufferedReader(Broken())))
