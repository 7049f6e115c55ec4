"""Numbers with units that a text names."""

from __future__ import annotations

from projections.mentions import MentionKind
from tests.projections.mentions.finding import values


def quantities(text):
    return values(MentionKind.QUANTITY, text)


def test_a_number_with_a_unit_is_found_in_the_units_first_spelling():
    rows = [
        ("1,024 bytes", "1024 B"),
        ("3.2 KB", "3.2 KB"),
        ("12MiB", "12 MiB"),
        ("5GB", "5 GB"),
        ("4096B", "4096 B"),
        ("250ms", "250 ms"),
        ("1.5 s", "1.5 s"),
        ("30 seconds", "30 s"),
        ("10-20 min", "10-20 min"),
        ("2 hours", "2 h"),
        ("1h30m", "1h30m"),
        ("3 days", "3 d"),
        ("6 months", "6 months"),
        ("85%", "85 %"),
        ("99.9 percent", "99.9 %"),
        ("200k tokens", "200k tokens"),
        ("1 line", "1 lines"),
        ("1100+ lines", "1100+ lines"),
        ("300-line", "300 lines"),
        ("3 files", "3 files"),
        ("500\N{EN DASH}900 words", "500\N{EN DASH}900 words"),
        ("12 insertions", "12 insertions"),
        ("16px", "16 px"),
        (".75rem", ".75 rem"),
        ("3.2 GHz", "3.2 GHz"),
        ("5 µs", "5 µs"),
    ]
    assert {text: quantities(f"(about {text})") for text, _ in rows} == {
        text: [value] for text, value in rows
    }


def test_a_number_without_a_unit_of_its_own_is_none():
    rows = [
        "1.2.3 v18 Python 3.11 node@18",
        "2026-01-02 01/02/2026 10:30:15 24/7",
        "line 12, column 5, port 8080, 3. item, 4) item",
        "i % 2 10 % 3 %5d %20s 100%d",
        "x86 mp3 h264 utf8 5th 1st 3D 4K 2x 16:9",
        "7B 70B parameters",
        "5 m, 10 h, 3 d",
        "phase 2 tests, step 3 files, Python 3 files, line 7 characters",
        "\x1b[0m \x1b[38;2;0;215;255m",
        "a1s b2ms 0x5s #5s",
        "0 errors, 12 prompts, 5 things",
    ]
    assert {text: found for text in rows if (found := quantities(text))} == {}


def test_every_quantity_of_a_line_is_found():
    assert quantities("3 files changed, 12 insertions(+), 4 deletions(-) in 2.5s (50%)") == [
        "3 files",
        "12 insertions",
        "4 deletions",
        "2.5 s",
        "50 %",
    ]
