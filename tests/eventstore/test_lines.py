from __future__ import annotations

import json

import pytest

from eventstore.errors import BadInputError
from eventstore.event import Parent
from eventstore.harnesses.refold.events import event_of_line
from tests.support import sentences

WORDS = [
    "JSON",
    "type",
    "id",
    "parentId",
    "timestamp",
    "label",
    "session_info",
    "targetId",
    "name",
    "str",
    "int",
]
MESSAGE = {"type": "message", "message": {"role": "user", "content": "hello", "timestamp": 1}}


def read(**fields: object):
    text = json.dumps({**MESSAGE, **fields}).encode()
    return event_of_line(text, number=7, clock=lambda: 42, new_id=lambda: "fresh")


def test_what_a_line_leaves_out_is_supplied() -> None:
    event = read()
    assert (event.id, event.time, event.parent, event.cause, event.kind) == (
        "fresh",
        42,
        Parent.LEAF,
        "",
        "message",
    )


def test_what_a_line_says_of_the_event_is_taken() -> None:
    event = read(id="a", parentId="b", timestamp="2026-01-01T00:00:00.000Z", cause="c")
    assert (event.id, event.parent, event.time, event.cause) == ("a", "b", 1_767_225_600_000, "c")


def test_a_null_parent_is_a_root() -> None:
    assert read(parentId=None).parent is None


def test_the_record_holds_the_rest_and_fields_that_are_not_known() -> None:
    assert json.loads(read(id="a", extra=[1]).body) == {**MESSAGE, "extra": [1]}


def test_an_unknown_kind_is_kept() -> None:
    event = event_of_line(b'{"type":"weather","sky":"blue"}', number=1, clock=lambda: 1, new_id=lambda: "a")
    assert (event.kind, event.body) == ("weather", b'{"type":"weather","sky":"blue"}')


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"{", ["JSON"]),
        (b"[]", ["JSON"]),
        (b"\xff", ["JSON"]),
        (b"{}", ["type"]),
        (b'{"type":5}', ["type"]),
        (b'{"type":"label","targetId":"a","id":5}', ["id"]),
        (b'{"type":"label","targetId":"a","parentId":5}', ["parentId", "id"]),
        (b'{"type":"label","targetId":"a","timestamp":"noon"}', ["timestamp"]),
        (b'{"type":"label"}', ["label", "targetId"]),
        (b'{"type":"session_info","name":5}', ["session_info", "str", "int", "name"]),
    ],
)
def test_a_line_that_is_no_event_is_refused_with_its_number_and_what_is_wrong_with_it(
    text: bytes, named: list[str]
) -> None:
    with pytest.raises(BadInputError) as caught:
        event_of_line(text, number=7, clock=lambda: 1, new_id=lambda: "a")
    assert caught.value.line == 7
    assert {*sentences.names(caught.value.problem, WORDS)} == {*named}


@pytest.mark.parametrize("kind", ["import", "observed_rewrite", "session"])
def test_what_belongs_to_an_imported_file_is_refused(kind: str) -> None:
    with pytest.raises(BadInputError) as caught:
        event_of_line(b'{"type":"%s"}' % kind.encode(), number=1, clock=lambda: 1, new_id=lambda: "a")
    assert "refold sync" in caught.value.remedy


@pytest.mark.slow
@pytest.mark.parametrize("levels", [501, 980, 100_000])
def test_a_line_that_is_nested_too_deeply_is_reported_with_its_number(levels: int) -> None:
    text = b'{"type":"weather","sky":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"
    with pytest.raises(BadInputError) as caught:
        event_of_line(text, number=7, clock=lambda: 1, new_id=lambda: "a")
    assert (caught.value.line, sentences.numbers(caught.value.problem)) == (7, [500])


def test_a_line_of_the_deepest_levels_is_taken() -> None:
    text = b'{"type":"weather","sky":' + b"[" * 499 + b"]" * 499 + b"}"
    assert event_of_line(text, number=7, clock=lambda: 1, new_id=lambda: "a").body == text


@pytest.mark.parametrize("name", ["observed-a-1", "generation-of-1", f"import-{'0' * 16}"])
def test_an_id_that_imports_use_is_refused(name: str) -> None:
    with pytest.raises(BadInputError) as caught:
        read(type="custom", id=name)
    assert caught.value.line == 7
