from __future__ import annotations

import json

import pytest

from eventstore.formats.pi_lines import objects_in

A = b'{"type":"custom","id":"a"}'
B = b'{"type":"label","id":"b"}'


def pieces(text: bytes) -> list[bytes]:
    return [text[start:stop] for start, stop, _ in objects_in(text)[0]]


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
    assert objects_in(torn) == ([], "not JSON")


def test_entries_quoted_in_a_torn_text_are_not_taken_for_entries() -> None:
    torn = b'{"type":"message","message":{"content":' + json.dumps(A.decode()).encode()
    assert objects_in(torn) == ([], "not JSON")


def test_what_is_behind_the_last_object_is_said_with_its_place() -> None:
    assert objects_in(A + b" rest")[1] == f"not JSON from byte {len(A) + 2} of the line on"


@pytest.mark.parametrize("text", [b"5", b"[1]", b'"x"', b"null"])
def test_json_that_is_no_object_is_said_to_be_so(text: bytes) -> None:
    assert objects_in(text) == ([], "JSON, but not an object")


def test_what_is_nested_too_deeply_is_said_to_be_so() -> None:
    text = b'{"type":"custom","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert objects_in(text) == ([], "nested too deeply to be read")


def test_a_line_of_nothing_but_beginnings_ends_soon() -> None:
    assert objects_in(b'{"type":"custom","x":[' * 50_000)[0] == []
