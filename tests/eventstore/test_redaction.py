"""Masking secrets: what is found, what a mask looks like, what stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import open_store
from eventstore.errors import CorruptionError
from eventstore.log import EventLog
from eventstore.redaction import Masks, masked_lines, read_redacted, redacted
from eventstore.secrets import FoundSecret, UnwrappedText
from projections.context.build import build_context
from projections.context.parts import view_of_part
from projections.message_text import message_text
from tests.support import claude_code
from tests.support.events import message
from tests.support.growth import NO_SQUARE, times_as_long
from tests.support.stores import damage, make_store

SECRET = "SECRET-ä-42"  # noqa: S105


def find(unwrapped: UnwrappedText) -> Iterator[FoundSecret]:
    """Find what follows "token=", in a text or as a field of an object."""
    for match in re.finditer(rb'token(?:=|":\s*")([^\s"\\]{8,})', unwrapped.text):
        yield FoundSecret("test", *match.span(1))


def redact(*texts: bytes) -> list[bytes]:
    masks = Masks(find)
    for text in texts:
        masks.learn(text)
    return [masks.apply(text) for text in texts]


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [found for pair in value.items() for each in pair for found in strings(each)]
    if isinstance(value, list):
        return [found for each in value for found in strings(each)]
    return [value] if isinstance(value, str) else []


words = st.text(max_size=20) | st.just(SECRET)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words | st.builds("{}{}".format, words, words),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@given(values, st.booleans())
def test_no_string_of_a_record_keeps_a_secret_and_all_others_stay(value: Any, ascii_only: bool) -> None:  # noqa: FBT001
    record = json.dumps([{"token": SECRET}, value], ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    (masked,) = redact(record)
    assert len(masked) == len(record)
    before, after = (strings(json.loads(each.decode("utf-8", "surrogatepass"))) for each in (record, masked))
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        assert SECRET not in other
        assert one == other or SECRET in one


@given(st.binary(max_size=200))
def test_any_bytes_keep_their_length(data: bytes) -> None:
    assert len(redact(b"token=12345678 " + data)[0]) == len(data) + 15


def test_a_secret_has_one_mask_everywhere_also_where_no_rule_finds_it() -> None:
    first, second = redact(b'{"a":"the one is 12345678-abc"}', b'{"token":"12345678-abc"}')
    (mask,) = set(re.findall(rb"\[masked-1[*]*\]", first + second))
    assert first.count(mask) == second.count(mask) == 1


def test_masking_a_secret_twice_as_often_takes_about_twice_as_long() -> None:
    def masked(times: int) -> list[bytes]:
        return redact(json.dumps({"token": SECRET, "output": f"line {SECRET}\n" * times}).encode())

    assert times_as_long(masked, 100, 800) < NO_SQUARE


def test_different_secrets_have_different_masks_of_their_lengths() -> None:
    (masked,) = redact(b'"token=aaaaaaaa token=bbbbbbbbbbbbbbbb token=cccccccccc"')
    assert masked == b'"token=*******1 token=[masked-2******] token=[masked-3]"'


def test_a_secret_with_escapes_is_found_and_masked() -> None:
    record = json.dumps({"text": "token=PASS/WÖRD\u2028x"}).encode().replace(b"/", b"\\/")
    (masked,) = redact(record)
    assert len(masked) == len(record)
    assert json.loads(masked)["text"].startswith("token=[masked-1")


def test_a_torn_record_is_masked() -> None:
    (masked,) = redact(b'{"text":"token=12345678')
    assert masked == b'{"text":"token=*******1'


def test_images_and_signatures_are_not_searched() -> None:
    record = b'{"data":"%s","signature":"token=12345678"}' % (b"token=12345678" * 200).replace(b"=", b"+")
    found: list[bytes] = []

    def seen(unwrapped: UnwrappedText) -> Iterator[FoundSecret]:
        found.append(unwrapped.text)
        return iter(())

    Masks(seen).learn(record)
    assert [re.sub(rb" +", b" ", text) for text in found] == [b'{"data":" ","signature":" "}']


@pytest.mark.parametrize("signature", ["signature", "thinkingSignature", "thought_signature"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_signed_block_with_a_secret_is_dropped(signature: str, at: int) -> None:
    blocks: list[Any] = [{"type": "text", "text": f"number {number}, token=12345678"} for number in range(2)]
    blocks.insert(at, {"type": "thinking", "thinking": "token=12345678 {[", signature: "c2ln"})
    record = json.dumps({"content": blocks}).encode()
    masks = Masks(find)
    masks.learn(record)
    masked = masks.apply(record)
    assert len(masked) == len(record)
    assert [each["type"] for each in json.loads(masked)["content"]] == ["text", "text"]
    assert (masks.count().dropped, masks.count().masks) == (1, 2)


def test_a_signed_block_without_a_secret_stays_as_it_is() -> None:
    block = {"type": "thinking", "thinking": "I think", "signature": "c2ln"}
    (masked,) = redact(json.dumps([block, "token=12345678"]).encode())
    assert json.loads(masked)[0] == block


def test_all_signed_blocks_of_a_message_may_go() -> None:
    block = {"type": "thinking", "thinking": "token=12345678", "signature": "c2ln"}
    (masked,) = redact(json.dumps({"content": [block, block]}).encode())
    assert json.loads(masked) == {"content": []}


def test_an_unsigned_thought_is_masked() -> None:
    (masked,) = redact(b'[{"thinking":"token=12345678","signature":""}]')
    assert json.loads(masked) == [{"thinking": "token=*******1", "signature": ""}]


@given(st.lists(st.integers(1, 90), max_size=6))
def test_a_file_is_masked_by_lines_however_it_is_cut(cuts: list[int]) -> None:
    file = b'{"token":"12345678-abc"}\nrest 12345678-abc\n\n{"a":"12345678-abc'
    ends = sorted({0, *(min(cut, len(file)) for cut in cuts), len(file)})
    pieces = [file[start:stop] for start, stop in pairwise(ends)]
    masked = b"".join(masked_lines(lambda: pieces, Masks(find)))
    assert masked == file.replace(b"12345678-abc", b"[masked-1**]")


def session(log: EventLog, folder: Path) -> None:
    claude_code.bring(
        log,
        folder / "s.jsonl",
        claude_code.said("u", None, "use token=12345678-abc"),
        claude_code.answer("a", "u", "m", "I use 12345678-abc"),
    )


def texts(log: Any, **options: Any) -> list[str]:
    return [
        message_text(view_of_part(part)) for part in build_context(log, claude_code.SESSION, **options).parts
    ]


def test_a_redacted_context_has_masks_and_the_log_its_secrets(log: EventLog, tmp_path: Path) -> None:
    session(log, tmp_path)
    with redacted(log, Masks(find)) as snapshot:
        assert texts(snapshot) == ["use token=[masked-1**]", "I use [masked-1**]"]
    assert texts(log) == ["use token=12345678-abc", "I use 12345678-abc"]


def test_a_secret_that_a_later_session_reveals_is_masked_in_an_earlier_one(log: EventLog) -> None:
    said = {"first": "12345678-abc is in use", "second": "use token=12345678-abc"}
    for name, text in said.items():
        log.append(name, [message("e", text)])

    def read(source: Any) -> list[str]:
        return [
            message_text(view_of_part(part)) for name in said for part in build_context(source, name).parts
        ]

    assert read_redacted(log, masks := Masks(find), read) == [
        "[masked-1**] is in use",
        "use token=[masked-1**]",
    ]
    assert (masks.count().secrets, masks.count().masks) == (1, 2)


def test_a_redacted_log_uses_nothing_that_was_derived_from_secrets(log: EventLog) -> None:
    log.keep([(b"key", b"12345678-abc")])
    with redacted(log, Masks(find)) as snapshot:
        assert snapshot.derived(b"key") is None


def test_every_way_to_read_an_event_is_redacted(log: EventLog, tmp_path: Path) -> None:
    session(log, tmp_path)
    with redacted(log, Masks(find)) as snapshot:
        name = claude_code.SESSION
        read = [
            bytes(each)
            for frames in (
                [snapshot.frame(name, 1)],
                snapshot.frames(name),
                snapshot.frames(name, backward=True),
                snapshot.path(name, 2),
                (item.frame for item in snapshot.feed()),
            )
            for each in frames
        ]
    assert [each for each in read if b"12345678-abc" in each] == []
    assert sum(b"[masked-1" in each for each in read) == 9


def test_a_redacted_log_refuses_altered_events(tmp_path: Path) -> None:
    (name,) = make_store(tmp_path / "store", 1)
    damage(tmp_path / "store", 1, 1)
    with (
        open_store(tmp_path / "store") as log,
        redacted(log, Masks(find)) as snapshot,
        pytest.raises(CorruptionError),
    ):
        snapshot.frame(name, 1)


def test_what_was_made_of_an_event_before_is_not_shown_redacted(log: EventLog, tmp_path: Path) -> None:
    claude_code.bring(
        log,
        tmp_path / "s.jsonl",
        claude_code.said("u", None, "hello"),
        claude_code.boundary("b", "u"),
        claude_code.summary("c", "b", "use token=12345678-abc"),
    )
    assert "12345678-abc" in texts(log)[0]
    with redacted(log, Masks(find)) as snapshot:
        assert "12345678-abc" not in texts(snapshot)[0]
    assert "12345678-abc" in texts(log)[0]


@pytest.mark.parametrize("before", [0, 1, 999, 1_000, 1_500])
def test_a_payload_has_no_secrets(before: int) -> None:
    payload = (b"token=" + b"a" * 1_994, b"token=" + b"a" * 1_993)
    found = []
    for each in payload:
        masks = Masks(find)
        masks.learn(b"." * before + each + b".")
        found.append(masks.count().secrets)
    assert found == [0, 1]
