"""JavaScript's numbers, orders, lengths and dates. The expected values were printed by Node.js."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.javascript import (
    compact_json,
    cut_utf16,
    epoch_ms,
    format_number,
    iso_time,
    lengths,
    parse_json,
    stringify,
    trim_whitespace,
    utf8_length,
    utf16_length,
    utf16_order,
    well_formed,
)

PRINTED_NUMBERS = {
    "1e21": "1e+21",
    "1e20": "100000000000000000000",
    "1e-7": "1e-7",
    "0.000001": "0.000001",
    "-0.0": "0",
    "-0": "0",
    "1.0": "1",
    "5e-324": "5e-324",
    "9007199254740993": "9007199254740992",
    "123456789012345680000": "123456789012345680000",
    "1.7976931348623157e308": "1.7976931348623157e+308",
    "0.1": "0.1",
    "123.456": "123.456",
    "-1e-7": "-1e-7",
    "1.5e300": "1.5e+300",
    "100": "100",
    "-1": "-1",
    "1e400": "null",
    "-1e400": "null",
    "12345678901234567890": "12345678901234567000",
    "0.00001234": "0.00001234",
    "1E5": "100000",
    "0e5": "0",
    "100e-2": "1",
    "999999999999999999999": "1e+21",
    "0.0000001": "1e-7",
    "4.35": "4.35",
    "-123e-20": "-1.23e-18",
    "0.30000000000000004": "0.30000000000000004",
    "4294967296": "4294967296",
    "1" * 350: "null",
    "1" * 5000: "null",
}

PRINTED_TEXTS = {
    '{"b":1,"10":2,"9":3,"a":4}': '{"9":3,"10":2,"b":1,"a":4}',
    '{"b":1,"01":2,"-1":3,"1.5":4,"4294967294":5,"4294967295":6,"0":7}': (
        '{"0":7,"4294967294":5,"b":1,"01":2,"-1":3,"1.5":4,"4294967295":6}'
    ),
    '{"a":{"2":0,"1":0}}': '{"a":{"1":0,"2":0}}',
    '["\\u00e9\\u2028\\ud83d\\ude00"]': '["é\u2028😀"]',
    '["\\ud83d"]': '["\\ud83d"]',
    '["\\ude00x"]': '["\\ude00x"]',
    '["\\/ \\b \\u000b \\u007f"]': '["/ \\b \\u000b \x7f"]',
    '{ "a" : [ 1.0 , -0 , 1E2 ] }': '{"a":[1,0,100]}',
    "[ ]": "[]",
    "{ }": "{}",
    '"x"': '"x"',
    " null ": "null",
    '{"":0}': '{"":0}',
    "[1e400,true,false]": "[null,true,false]",
    '{"a":"1.50 and \\"2\\": 3"}': '{"a":"1.50 and \\"2\\": 3"}',
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
    def test_numbers_print_as_javascript_prints_them(self) -> None:
        assert {source: format_number(parse_json(source)) for source in PRINTED_NUMBERS} == PRINTED_NUMBERS

    @pytest.mark.parametrize("around", ["{}", "[{}]", '{{"a":{}}}', '[0,{},""]'])
    def test_numbers_print_so_wherever_they_stand(self, around: str) -> None:
        printed = {source: compact_json(around.format(source).encode()) for source in PRINTED_NUMBERS}
        assert printed == {source: around.format(number) for source, number in PRINTED_NUMBERS.items()}

    def test_texts_print_as_javascript_prints_them(self) -> None:
        assert {source: stringify(parse_json(source)) for source in PRINTED_TEXTS} == PRINTED_TEXTS

    def test_the_quick_way_prints_the_same(self) -> None:
        assert {source: compact_json(source.encode()) for source in PRINTED_TEXTS} == PRINTED_TEXTS

    def test_of_equal_keys_the_last_counts_in_the_place_of_the_first(self) -> None:
        assert stringify(parse_json('{"a":1,"b":2,"a":3}')) == '{"a":3,"b":2}'

    def test_bytes_that_are_no_utf_8_print_as_their_replacement(self) -> None:
        assert compact_json(b'{"a": "\xff"}') == '{"a":"\ufffd"}'

    def test_foreign_memory_prints_too(self) -> None:
        assert compact_json(memoryview(b'{"a": 1.0}')) == '{"a":1}'
        assert compact_json(memoryview(b'{"a": 1}')) == '{"a":1}'

    @given(json_values)
    def test_the_quick_way_and_the_long_way_agree(self, value: object) -> None:
        source = json.dumps(value, ensure_ascii=False, indent=1)
        assert compact_json(source.encode()) == stringify(parse_json(source))

    @given(json_values)
    def test_what_is_printed_is_read_again_as_it_prints(self, value: object) -> None:
        printed = stringify(value)
        assert stringify(parse_json(printed)) == printed

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_a_printed_number_is_the_same_number(self, value: float) -> None:
        assert float(format_number(value)) == value


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


class TestTrimming:
    def test_what_javascript_takes_for_white_space_is_trimmed(self) -> None:
        white = [code for code in range(0x10000) if trim_whitespace(chr(code)) == ""]
        assert white == [
            *range(0x9, 0xE),
            0x20,
            0xA0,
            0x1680,
            *range(0x2000, 0x200B),
            0x2028,
            0x2029,
            0x202F,
            0x205F,
            0x3000,
            0xFEFF,
        ]

    def test_only_the_ends_of_a_text_are_trimmed(self) -> None:
        assert trim_whitespace("\ufeff \n a \u2028 b\t") == "a \u2028 b"


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
