"""Check the payloads of blocks, which the view of a pi message leaves out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from eventstore.harnesses import format_of
from eventstore.views import Payload
from tests.support.talk import image, text, thinking, user
from tests.support.wild_talk import any_talk


def payloads(message: object) -> list[Payload]:
    return format_of("pi/3").payloads(json.dumps(message, separators=(",", ":")).encode())


def test_a_block_is_as_it_was_recorded() -> None:
    message = b'{"role":"user","content":[ {"type": "video","n":1.0,"t":"\\u00e9"} ,{"type":"text"}]}'
    assert [each.raw for each in format_of("pi/3").payloads(message)] == [
        b'{"type": "video","n":1.0,"t":"\\u00e9"}',
        b'{"type":"text"}',
    ]


def test_an_image_has_its_data() -> None:
    assert [each.image for each in payloads(user([text("look"), image("QUJD")]))] == ["", "QUJD"]


def test_thinking_may_be_redacted() -> None:
    blocks = [thinking("hm"), thinking("", redacted=True)]
    assert [each.is_redacted for each in payloads(user(blocks))] == [False, True]


@pytest.mark.parametrize(
    "block", [{"type": "image"}, {"type": "image", "data": 7}, {"type": "video", "data": "x"}]
)
def test_what_is_no_image_with_data_has_none(block: dict[str, object]) -> None:
    assert payloads(user([block]))[0].image == ""


@pytest.mark.parametrize("message", [user("a text"), {"role": "user"}, {"role": "user", "content": None}, []])
def test_content_that_is_no_list_has_no_blocks(message: object) -> None:
    assert payloads(message) == []


def test_what_is_no_object_is_no_block() -> None:
    assert [each.raw for each in payloads(user([1, image("QUJD"), "x", None]))] == [  # type: ignore[list-item]
        b'{"type":"image","data":"QUJD","mimeType":"image/png"}'
    ]


def test_damaged_text_is_replaced() -> None:
    message = b'{"role":"user","content":[{"type":"image","data":"\xff"}]}'
    assert [each.image for each in format_of("pi/3").payloads(message)] == ["\ufffd"]


def test_half_a_surrogate_pair_stays_the_escape_that_it_is() -> None:
    message = b'{"role":"user","content":[{"type":"image","data":"\\ud83d"}]}'
    assert [(each.raw, each.image) for each in format_of("pi/3").payloads(message)] == [
        (b'{"type":"image","data":"\\ud83d"}', "\ud83d")
    ]


@given(said=any_talk)
def test_there_is_a_payload_for_each_block_of_a_list(said: list[dict[str, object]]) -> None:
    for message in said:
        if isinstance(message.get("content"), list):
            raw = json.dumps(message).encode()
            assert len(format_of("pi/3").payloads(raw)) == len(format_of("pi/3").message(raw).blocks)
