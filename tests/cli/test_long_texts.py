"""Scans of a text take time in proportion to it, whatever is repeated in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.running import Refold
from tests.support.pi_files import entry, header, said

SIZE = 160_000
"""Characters: a scan that compares each with each would take minutes."""
SHAPES = (
    "src/some/name.py ",
    "a",
    "a.b",
    "a/",
    "`x` ",
    "x: ",
    "- x",
    "((",
    "_a",
    "@x.y",
    "1.2.",
    "<a>",
    "\\",
    "a=b;",
)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_no_command_takes_long_for_a_line(refold: Refold, tmp_path: Path, shape: str) -> None:
    text = (shape * SIZE)[:SIZE]
    lines = (
        header(session="s"),
        said("Read src/parser.py and fix `findModel`", "u1", None),
        said(text, "a1", "u1"),
        said("more", "u2", "a1"),
        entry("c1", "u2", kind="compaction", summary=text, firstKeptEntryId="u2", tokensBefore=1000),
        said(text, "u3", "c1"),
    )
    (tmp_path / "s.jsonl").write_bytes(b"".join(lines))
    refold("sync", tmp_path / "s.jsonl")
    began = time.process_time()
    for command in (
        ("audit", "s"),
        ("log", "s"),
        ("rules", "s"),
        ("context", "s", "--redact"),
        ("search", "parser"),
        ("compact", "s", "--keep-recent", "0", "--summarizer", "extractive"),
    ):
        refold(*command)
    assert time.process_time() - began < 10
