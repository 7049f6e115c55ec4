from __future__ import annotations

import json

import pytest

from eventstore import EventLog, SessionWriter
from eventstore.errors import BadInputError, EventConflictError, VersionConflictError
from eventstore.frame import decode
from eventstore.records import (
    Custom,
    Label,
    ModelChange,
    ObservedRewrite,
    Rewrite,
    SessionInfo,
    TextReplacement,
    embed,
)
from tests.support import sentences

HELLO = {"role": "user", "content": "hello"}


def ids(log: EventLog) -> list[str]:
    with log.snapshot() as snapshot:
        return [decode(frame, "s").id for frame in snapshot.frames("s")]


def test_records_appended_together_stand_below_each_other(log: EventLog) -> None:
    first, second = SessionWriter(log, "s").append(SessionInfo(name="a"), SessionInfo(name="b"))
    with log.snapshot() as snapshot:
        assert decode(snapshot.frame("s", 2), "s").parent == first
    assert ids(log) == [first, second]


def test_times_and_ids_are_those_that_were_given(log: EventLog) -> None:
    names = iter(["x", "y"])
    writer = SessionWriter(log, "s", clock=lambda: 42, new_id=lambda: next(names))
    writer.message(HELLO)
    with log.snapshot() as snapshot:
        event = decode(snapshot.frame("s", 1), "s")
    assert (event.id, event.time) == ("x", 42)


def test_half_a_surrogate_pair_in_a_message_is_stored_as_its_replacement(log: EventLog) -> None:
    SessionWriter(log, "s").message({"role": "user", "content": "a \ud83d b"})
    with log.snapshot() as snapshot:
        body = decode(snapshot.frame("s", 1), "s").body
    assert json.loads(body)["message"]["content"] == "a \ufffd b"


def test_an_id_that_is_taken_is_passed_over(log: EventLog) -> None:
    names = iter(["x", "x", "y"])
    writer = SessionWriter(log, "s", new_id=lambda: next(names))
    writer.message(HELLO)
    assert writer.message(HELLO) == "y"


def test_a_stale_version_is_refused(log: EventLog) -> None:
    writer = SessionWriter(log, "s")
    writer.message(HELLO, expected="new")
    with pytest.raises(VersionConflictError):
        writer.message(HELLO, expected=0)


@pytest.mark.parametrize("message", ["hello", None, 5, [], {}, {"role": 5}])
def test_what_is_no_message_is_refused(log: EventLog, message: object) -> None:
    with pytest.raises(BadInputError):
        SessionWriter(log, "s").message(message)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "record",
    [
        ModelChange(provider=5, model_id="m"),  # type: ignore[arg-type]
        Rewrite(reason=None, targets=[]),  # type: ignore[arg-type]
        Rewrite(reason="r", targets=[TextReplacement(target="a", text=5)]),  # type: ignore[arg-type]
        Label(target_id=object()),  # type: ignore[arg-type]
    ],
)
def test_a_record_that_nothing_could_read_again_is_refused(log: EventLog, record: ModelChange) -> None:
    with pytest.raises(BadInputError) as refused:
        SessionWriter(log, "s").append(record)
    assert record.kind in refused.value.source


def test_what_imports_alone_write_is_refused(log: EventLog) -> None:
    with pytest.raises(BadInputError):
        SessionWriter(log, "s").append(ObservedRewrite(target_id="a", record=embed(b"{}")))


def test_a_record_may_point_at_one_that_is_appended_with_it(log: EventLog) -> None:
    writer = SessionWriter(log, "s")
    message, label = writer.fresh_ids(2)
    writer.append(SessionInfo(name="a"), Label(target_id=message, label="here"), ids=[message, label])
    assert ids(log) == [message, label]


def test_fresh_ids_are_none_that_the_session_has(log: EventLog) -> None:
    names = iter(["x", "x", "y", "y", "z"])
    writer = SessionWriter(log, "s", new_id=lambda: next(names))
    writer.message(HELLO)
    assert writer.fresh_ids(2) == ["y", "z"]


def test_fresh_ids_are_not_taken_by_asking(log: EventLog) -> None:
    writer = SessionWriter(log, "s", new_id=lambda: "x")
    assert writer.fresh_ids(1) == writer.fresh_ids(1) == ["x"]


def test_more_records_than_ids_are_refused(log: EventLog) -> None:
    with pytest.raises(ValueError, match="zip"):
        SessionWriter(log, "s").append(SessionInfo(name="a"), SessionInfo(name="b"), ids=["x"])


@pytest.mark.parametrize("levels", [600, 990, 5_000])
def test_what_is_nested_too_deeply_is_refused(log: EventLog, levels: int) -> None:
    content: list[object] = []
    for _ in range(levels):
        content = [content]
    with pytest.raises(BadInputError) as message_refused:
        SessionWriter(log, "s").message({"role": "user", "content": content})
    with pytest.raises(BadInputError) as record_refused:
        SessionWriter(log, "s").append(Custom(custom_type="x", data=content))
    for refused in (message_refused, record_refused):
        assert sentences.numbers(refused.value.problem) == [500]


def test_records_sent_again_under_their_ids_later_are_there_already(log: EventLog) -> None:
    times = iter([1, 2])
    writer = SessionWriter(log, "s", clock=lambda: next(times))
    names = writer.fresh_ids(2)
    for _ in range(2):
        assert writer.append(SessionInfo(name="a"), SessionInfo(name="b"), ids=names) == names
    assert ids(log) == names


def test_other_records_under_the_same_ids_are_refused(log: EventLog) -> None:
    writer = SessionWriter(log, "s")
    names = writer.append(SessionInfo(name="a"))
    with pytest.raises(EventConflictError) as refused:
        writer.append(SessionInfo(name="b"), ids=names)
    assert refused.value.event_id == names[0]


def test_the_same_record_without_an_id_is_another_each_time(log: EventLog) -> None:
    writer = SessionWriter(log, "s", clock=lambda: 1)
    writer.message(HELLO)
    writer.message(HELLO)
    assert len(ids(log)) == 2


@pytest.mark.parametrize("role", ["user", "assistant", "toolResult", "custom", "hookMessage", "developer"])
@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": 5}, {"content": {"type": "text"}}])
def test_a_message_without_content_is_refused(log: EventLog, role: str, content: dict[str, object]) -> None:
    with pytest.raises(BadInputError):
        SessionWriter(log, "s").message({"role": role, **content})


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": []},
        {"role": "bashExecution", "command": "ls", "output": ""},
        {"role": "branchSummary", "summary": "s"},
        {"role": "fileMention", "files": []},
    ],
)
def test_a_message_of_a_role_with_other_fields_needs_no_content(
    log: EventLog, message: dict[str, object]
) -> None:
    assert SessionWriter(log, "s").message(message)
