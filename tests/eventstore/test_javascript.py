"""JavaScript's orders, lengths and dates, as Node.js prints them, and lenient JSON."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.javascript import (
    compact_json,
    cut_utf16,
    epoch_ms,
    iso_time,
    lengths,
    parse_json,
    stringify,
    utf8_length,
    utf16_length,
    utf16_order,
    well_formed,
)

PRINTED = {
    '{"b":1,"10":2,"a":3}': '{"b":1,"10":2,"a":3}',
    '["\\u00e9\\u2028\\ud83d\\ude00"]': '["é\u2028😀"]',
    '["é\\ud83d"]': '["é\\ud83d"]',
    '["\\ude00x", 1e400]': '["\\ude00x",null]',
    '["\\/ \\b \\u000b \\u007f"]': '["/ \\b \\u000b \x7f"]',
    '{ "a" : [ 1.5 , -7 , 1E2 ] }': '{"a":[1.5,-7,100.0]}',
    "[ ]": "[]",
    '"x"': '"x"',
    " null ": "null",
    "[1e400,true,-1e400]": "[null,true,null]",
    "123456789012345678901234567890": "123456789012345678901234567890",
    "1" * 5000: "null",
}

texts = st.text(st.characters(codec="utf-8"), max_size=12)
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        texts,
        st.integers(-(2**60), 2**60),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(texts, st.integers(0, 2**33).map(str)), inner, max_size=4),
    ),
    max_leaves=12,
)


class TestPrinting:
    def test_json_prints_without_spaces_and_needless_escapes(self) -> None:
        assert {source: stringify(parse_json(source)) for source in PRINTED} == PRINTED

    def test_recorded_json_prints_the_same(self) -> None:
        assert {source: compact_json(source.encode()) for source in PRINTED} == PRINTED

    def test_of_equal_keys_the_last_counts_in_the_place_of_the_first(self) -> None:
        assert stringify(parse_json('{"a":1,"b":2,"a":3}')) == '{"a":3,"b":2}'

    def test_bytes_that_are_no_utf_8_print_as_their_replacement(self) -> None:
        assert compact_json(b'{"a": "\xff"}') == '{"a":"\ufffd"}'

    def test_foreign_memory_prints_too(self) -> None:
        assert compact_json(memoryview(b'{"a": 1}')) == '{"a":1}'

    @given(json_values)
    def test_what_is_printed_is_read_again(self, value: object) -> None:
        assert parse_json(stringify(value)) == value
        assert parse_json(stringify([value, "\ud83d"])) == [value, "\ud83d"]


class TestParsing:
    @pytest.mark.parametrize(
        "source", ["NaN", "Infinity", "-Infinity", "[NaN]", "'a'", "{a:1}", "[1,]", "", "1 2"]
    )
    def test_what_javascript_refuses_is_refused(self, source: str) -> None:
        with pytest.raises(ValueError):  # noqa: PT011  as Python's own parser
            parse_json(source)

    def test_a_lone_surrogate_is_a_character(self) -> None:
        assert parse_json('"\\ud83d"') == "\ud83d"


class TestUtf16:
    @pytest.mark.parametrize(
        ("text", "length"), [("", 0), ("abc", 3), ("é", 1), ("a😀b", 4), ("\ud83d", 1), ("日本", 2)]
    )
    def test_a_length_counts_utf_16_units(self, text: str, length: int) -> None:
        assert utf16_length(text) == length

    @pytest.mark.parametrize(
        ("text", "length"), [("", 0), ("abc", 3), ("é", 2), ("a😀b", 6), ("\ud83d", 3), ("日本", 6)]
    )
    def test_a_length_in_utf_8_counts_bytes_and_three_for_half_a_pair(self, text: str, length: int) -> None:
        assert utf8_length(text) == length

    def test_of_a_text_half_a_pair_becomes_a_replacement_and_a_pair_stays(self) -> None:
        assert well_formed("a\ud83d\U0001f600\udc00") == "a\ufffd\U0001f600\ufffd"

    def test_two_halves_that_have_come_together_are_the_character_they_stand_for(self) -> None:
        assert well_formed("\ud83d" + "\ude00") == "\U0001f600"

    @pytest.mark.parametrize(
        ("units", "cut"), [(0, ""), (1, "a"), (2, "a\ud83d"), (3, "a😀"), (4, "a😀b"), (9, "a😀b")]
    )
    def test_a_cut_may_split_a_pair(self, units: int, cut: str) -> None:
        assert cut_utf16("a😀b", units) == cut

    @pytest.mark.parametrize("units", [0, 2, 9])
    def test_a_cut_of_ascii_counts_characters(self, units: int) -> None:
        assert cut_utf16("abc", units) == "abc"[:units]

    def test_the_order_is_that_of_utf_16_units(self) -> None:
        unordered = ["10", "9", "a", "B", "é", "z", "😀", "\uffff", "\ue000", ""]
        in_order = ["", "10", "9", "B", "a", "z", "é", "😀", "\ue000", "\uffff"]
        assert sorted(unordered, key=utf16_order) == in_order

    @given(texts, st.integers(0, 20))
    def test_a_cut_has_the_length_that_was_asked_for(self, text: str, units: int) -> None:
        assert utf16_length(cut_utf16(text, units)) == min(units, utf16_length(text))


class TestDates:
    def test_a_date_is_so_many_milliseconds(self) -> None:
        dates = {
            "2024-01-01T00:00:00Z": 1704067200000,
            "2024-01-01T00:00:00.123Z": 1704067200123,
            "2024-01-01T00:00:00.1Z": 1704067200100,
            "2024-01-01T00:00:00.123456Z": 1704067200123,
            "2024-01-01": 1704067200000,
            "2024-01": 1704067200000,
            "2024-01-01T00:00Z": 1704067200000,
            "2024-01-01 00:00:00Z": 1704067200000,
            "2024-01-01T00:00:00+05:30": 1704047400000,
            "2024-01-01T00:00:00+0530": 1704047400000,
            "1969-12-31T23:59:59.9999Z": -1,
            "0001-01-01T00:00:00.000Z": -62135596800000,
            "9999-12-31T23:59:59.999Z": 253402300799999,
        }
        assert {date: epoch_ms(date) for date in dates} == dates

    def test_what_is_no_date_is_none(self) -> None:
        texts = ["", "x", "2024-13-01", "2024-01-01T25:00:00Z", "2024-06-30T23:59:60Z", "2024-01-01T00Z"]
        others = [None, True, False, [], {}, float("nan"), float("inf"), 8.64e15 + 1, 10**400]
        assert [date for date in [*texts, *others] if epoch_ms(date) is not None] == []

    @pytest.mark.parametrize(
        ("date", "milliseconds"), [(0, 0), (1.9, 1), (-1.9, -1), (8.64e15, 8640000000000000)]
    )
    def test_a_number_is_milliseconds_already(self, date: float, milliseconds: int) -> None:
        assert epoch_ms(date) == milliseconds

    @given(
        st.from_regex(
            r"20[0-9]{2}-[0-1][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\.[0-9]{3}Z", fullmatch=True
        )
    )
    def test_a_time_as_harnesses_write_it_is_that_of_its_offset_form(self, date: str) -> None:
        assert epoch_ms(date) == epoch_ms(f"{date[:-1]}+00:00")

    @given(st.text())
    def test_both_lengths_are_those_of_one_each(self, text: str) -> None:
        assert lengths(text) == (utf16_length(text), utf8_length(text))

    def test_a_date_without_an_offset_does_not_depend_on_the_machine(self) -> None:
        assert epoch_ms("2024-01-01T00:00:00") == 1704067200000

    @pytest.mark.parametrize(
        ("milliseconds", "printed"),
        [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1704067200123, "2024-01-01T00:00:00.123Z"),
            (951782400000, "2000-02-29T00:00:00.000Z"),
            (-62135596800000, "0001-01-01T00:00:00.000Z"),
            (253402300799999, "9999-12-31T23:59:59.999Z"),
        ],
    )
    def test_a_time_prints_as_javascript_prints_it(self, milliseconds: int, printed: str) -> None:
        assert iso_time(milliseconds) == printed

    @pytest.mark.parametrize("milliseconds", [None, 253402300800000, -62135596800001, 2**63])
    def test_a_time_that_four_digits_of_a_year_do_not_hold_is_none(self, milliseconds: int | None) -> None:
        assert iso_time(milliseconds) is None

    @given(st.integers(-62135596800000, 253402300799999))
    def test_a_printed_time_is_read_as_the_same_time(self, milliseconds: int) -> None:
        assert epoch_ms(iso_time(milliseconds)) == milliseconds
