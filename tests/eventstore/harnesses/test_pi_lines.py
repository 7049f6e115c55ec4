from __future__ import annotations

import json
import re
from typing import Any

import pytest

from eventstore.harnesses import lines as pi_lines
from eventstore.harnesses.lines import TOO_DEEP, objects_in
from eventstore.harnesses.pi.dialects import PI
from tests.support.sentences import numbers

A = b'{"type":"custom","id":"a"}'
B = b'{"type":"label","id":"b"}'
NOT_JSON = objects_in(b"{", PI)[1]


def pieces(text: bytes) -> list[bytes]:
    return [text[start:stop] for start, stop, _ in objects_in(text, PI)[0]]


@pytest.mark.parametrize("between", [b"", b" ", b"\t\r "])
def test_objects_one_behind_the_other_are_all_found(between: bytes) -> None:
    assert pieces(A + between + B) == [A, B]


def test_spans_count_bytes_not_characters() -> None:
    first = '{"type":"custom","data":"é€😀"}'.encode()
    assert pieces(first + B) == [first, B]


def test_spans_are_right_behind_bytes_that_are_no_utf8() -> None:
    first = b'{"type":"custom","data":"\xff\xfe"}'
    assert pieces(first + B) == [first, B]


def test_a_whole_entry_behind_a_torn_one_is_found() -> None:
    torn = b'{"type":"message","id":"x","message":{"role":"assistant","content":[{"type":"text","te'
    assert pieces(torn + B) == [B]


def test_a_block_of_a_torn_message_is_not_taken_for_an_entry() -> None:
    torn = (
        b'{"type":"message","message":{"content":[{"type":"text","text":"x"},{"type":"toolCall","name":"y"}'
    )
    assert objects_in(torn, PI) == ([], NOT_JSON)


def test_entries_quoted_in_a_torn_text_are_not_taken_for_entries() -> None:
    torn = b'{"type":"message","message":{"content":' + json.dumps(A.decode()).encode()
    assert objects_in(torn, PI) == ([], NOT_JSON)


def test_what_is_behind_the_last_object_is_said_with_its_place() -> None:
    problem = objects_in(A + b" rest", PI)[1]
    assert problem.startswith(NOT_JSON)
    assert numbers(problem) == [len(A) + 2]


@pytest.mark.parametrize("text", [b"5", b"[1]", b'"x"', b"null"])
def test_json_that_is_no_object_is_said_to_be_so(text: bytes) -> None:
    found, problem = objects_in(text, PI)
    assert found == []
    assert problem not in ("", NOT_JSON, TOO_DEEP)


def test_what_is_nested_too_deeply_is_said_to_be_so() -> None:
    text = b'{"type":"custom","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert objects_in(text, PI) == ([], TOO_DEEP)


@pytest.mark.parametrize("type_", ["[]", "{}", "5", "null", "true", '"other"'])
def test_an_object_behind_a_torn_one_whose_type_is_none_of_pis_is_no_entry(type_: str) -> None:
    torn = b'garbage{"type":"message","type":%b}' % type_.encode()
    assert objects_in(torn + B, PI)[0] == [(len(torn), len(torn + B), {"type": "label", "id": "b"})]


def read_in_vain(monkeypatch: pytest.MonkeyPatch, text: bytes) -> int:
    """The bytes behind the places where reading began and failed: what it read at most."""
    read = 0

    def parse_at(decoded: str, at: int) -> Any:
        nonlocal read
        try:
            return real(decoded, at)
        except (ValueError, RecursionError):
            read += len(decoded) - at
            raise

    real = pi_lines.parse_at
    with monkeypatch.context() as patch:
        patch.setattr(pi_lines, "parse_at", parse_at)
        objects_in(text, PI)
    return read


TANGLED = [
    b'{"type":"message","x":[' * 300 + b"1," * 5_000,
    b'{"type":"message","x":{"type":"custom","y":[' * 50 + b'"' + b"y" * 10_000,
    b'{"type":"custom","x":[' * 1_000,
]


@pytest.mark.parametrize("text", TANGLED)
def test_a_line_of_beginnings_is_read_a_few_times_only(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    assert read_in_vain(monkeypatch, text) <= 10 * len(text)


@pytest.mark.parametrize("piece", [b'{"type":"message"x', b'{"type":"message","x":"'])
def test_a_failure_in_the_middle_costs_what_the_parser_counted_up_to_there(
    monkeypatch: pytest.MonkeyPatch, piece: bytes
) -> None:
    failures: list[int] = []
    real = pi_lines._read_by
    monkeypatch.setattr(
        pi_lines, "_read_by", lambda error, text: failures.append(real(error, text)) or failures[-1]
    )
    text = piece * 5_000
    objects_in(text, PI)
    assert 8 * len(text) <= sum(failures) < 9 * len(text)


@pytest.mark.parametrize("text", TANGLED)
def test_what_is_not_searched_any_more_is_said_with_its_place(text: bytes) -> None:
    spans, problem = objects_in(text + B, PI)
    at = int(re.findall(r"not searched for records from byte (\d+) of the line on", problem)[0])
    assert (spans, text[at - 1 :][:7]) == ([], b'{"type"')


@pytest.mark.parametrize("count", [1, 2, 8])
def test_torn_records_in_a_row_do_not_hide_a_whole_one(count: int) -> None:
    torn = b'{"type":"message","id":"x","message":{"role":"assistant","content":"so fa'
    spans, problem = objects_in(torn * count + B, PI)
    assert ([text[2] for text in spans], problem) == ([{"type": "label", "id": "b"}], "not JSON")
