from __future__ import annotations

import json
import subprocess

import pytest

from eventstore.errors import BadInputError
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.patience import PATIENCE
from tests.support.pi_files import line

CUSTOM = line({"type": "custom", "customType": "x"})
HELLO = line({"type": "message", "id": "m1", "message": {"role": "user", "content": "hello"}})


def test_a_line_is_acknowledged_before_the_next_is_read(refold: Refold) -> None:
    with refold.started("append", "s", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for version in (1, 2, 3):
            process.stdin.write(CUSTOM)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["version"] == version
        process.stdin.close()


def test_a_session_that_is_not_there_comes_to_be(refold: Refold) -> None:
    refold("append", "my-session", "--expected", "0", stdin=HELLO)
    assert refold("tree", "my-session", "--json").json["leaf"] == "m1"


def test_the_beginning_of_an_id_is_refused(refold: Refold) -> None:
    refold("append", "my-session", stdin=HELLO)
    told = refold.refused(BadInputError, "append", "my-s", stdin=CUSTOM)
    assert (told.source, told.problem) == (
        "session 'my-s'",
        "it is only the beginning of session 'my-session'",
    )


@pytest.mark.parametrize("has_events", [False, True])
@pytest.mark.parametrize("kind", ["undone", "compaction"])
def test_a_missing_target_is_refused(refold: Refold, kind: str, *, has_events: bool) -> None:
    refold("append", "s", stdin=HELLO if has_events else b"")
    of = (
        {"targetId": "gone"}
        if kind == "undone"
        else {"firstKeptEntryId": "gone", "summary": "s", "tokensBefore": 1}
    )
    told = refold.refused(BadInputError, "append", "s", stdin=line({"type": kind, **of}))
    assert (told.source, told.line, "'gone'" in told.problem) == ("standard input", 1, True)


def test_nothing_is_appended_of_nothing(refold: Refold) -> None:
    assert refold("append", "s").out == ""
    assert refold("sessions", "--json").json["sessions"] == []


def test_a_last_line_without_an_end_counts(refold: Refold) -> None:
    assert refold("append", "s", stdin=HELLO.rstrip()).json["id"] == "m1"


def test_with_expected_each_line_expects_what_the_one_before_made(refold: Refold) -> None:
    acknowledged = refold("append", "s", "--expected", "0", stdin=CUSTOM * 3).json_lines
    assert [each["version"] for each in acknowledged] == [1, 2, 3]
    refold("append", "s", "--expected", "3", stdin=CUSTOM)


def test_the_same_line_again_adds_nothing_and_is_acknowledged(refold: Refold) -> None:
    same = line({"type": "custom", "customType": "x", "id": "e1", "timestamp": "2025-12-08T22:00:00.000Z"})
    refold("append", "s", "--expected", "0", stdin=same)
    again = refold("append", "s", "--expected", "0", stdin=same).json
    assert again == {"line": 1, "id": "e1", "seq": 1, "version": 1, "added": 0}


def test_the_same_line_again_later_adds_nothing_though_it_has_no_time(refold: Refold) -> None:
    first = refold("append", "s", stdin=HELLO + CUSTOM).json_lines
    time = refold("log", "s", "--json").json_lines[0]["time"]
    again = refold("append", "s", stdin=HELLO).json
    assert (again["seq"], again["added"], len(first)) == (1, 0, 2)
    assert refold("log", "s", "--json").json_lines[0]["time"] == time


def test_the_same_line_again_is_another_event_if_it_has_no_id(refold: Refold) -> None:
    assert [each["added"] for each in refold("append", "s", stdin=CUSTOM * 2).json_lines] == [1, 1]


@pytest.mark.parametrize("message", [{"role": "user"}, {"role": "assistant", "content": None}])
def test_a_message_without_content_is_refused(refold: Refold, message: dict[str, object]) -> None:
    sent = CUSTOM + line({"type": "message", "message": message})
    assert refold.refused(BadInputError, "append", "s", stdin=sent).line == 2


"""Lines that are wrong, and the field that each is wrong in."""


def test_fields_that_refold_does_not_know_are_kept(refold: Refold) -> None:
    refold(
        "append", "s", stdin=line({"type": "custom", "customType": "x", "id": "e1", "mood": ["good", 1.5]})
    )
    assert refold("show", "s", "e1", "--json").json["record"]["mood"] == ["good", 1.5]


def test_kinds_that_refold_does_not_know_are_kept(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "weather", "id": "e1", "sun": True}))
    shown = refold("show", "s", "e1", "--json").json
    assert (shown["kind"], shown["entry"], shown["record"]) == (
        "weather",
        True,
        {"type": "weather", "sun": True},
    )


def test_what_a_line_says_of_id_parent_time_and_cause_is_taken(told: Refold) -> None:
    given = {"id": "e1", "parentId": "a1", "timestamp": "2025-12-09T01:02:03.004Z", "cause": "why"}
    told("append", SESSION, stdin=line({"type": "custom", "customType": "x", **given}))
    shown = told("show", SESSION, "e1", "--json").json
    assert (shown["parent"], shown["time"], shown["cause"]) == ("a1", "2025-12-09T01:02:03.004Z", "why")
    assert shown["record"] == {"type": "custom", "customType": "x"}


def test_at_last_is_the_session_that_was_written_to_last(told: Refold) -> None:
    told("append", "@last", stdin=HELLO)
    assert told("tree", SESSION, "--json").json["leaf"] == "m1"


def test_the_beginning_of_an_id_can_be_new(told: Refold) -> None:
    told("append", SESSION[:8], "--expected", "0", stdin=HELLO)
    assert told("sessions", "--json").json["sessions"][-1]["id"] == SESSION[:8]


@pytest.mark.slow
def test_several_writers_lose_nothing(refold: Refold) -> None:
    writers = [refold.started("append", "s", stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(CUSTOM * 20)
        writer.stdin.close()
        writer.stdin = None
    acknowledged = [
        json.loads(each)["seq"]
        for writer in writers
        for each in writer.communicate(timeout=PATIENCE)[0].splitlines()
    ]
    assert sorted(acknowledged) == list(range(1, 61))
    assert refold("verify", "--json").json["findings"] == []
