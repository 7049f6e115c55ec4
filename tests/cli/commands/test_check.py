"""refold check."""

from __future__ import annotations

import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.projections.rules.claude_code.test_recorded_requests import FILE
from tests.support.pi_files import line
from tests.support.talk import Json, assistant, user
from tests.support.tampering import tables


def said(event_id: str, message: Json, **fields: object) -> bytes:
    return line({"type": "message", "id": event_id, "message": message, **fields})


def answer(read: int, written: int) -> Json:
    usage = {"output": 1, "cacheRead": read, "cacheWrite": written, "totalTokens": read + written + 1}
    return assistant("done", usage=usage)


@pytest.fixture
def diverged(refold: Refold) -> Refold:
    """A store with a session that says that its second request began like the first, and did not."""
    records = [
        said("m1", user("go")),
        said("m2", answer(0, 100)),
        said("m3", user("elsewhere"), parentId=None),
        said("m4", answer(100, 10)),
    ]
    refold("append", "diverged", stdin=b"".join(records))
    return refold


def test_a_session_as_its_records_say_is_sound(told: Refold) -> None:
    (found,) = told("check", SESSION, "--json").json["sessions"]
    assert (found["session"], found["harness"]) == (SESSION, "pi")
    assert [each["failures"] for each in found["results"] if each["exact"]] == [[], []]


def test_an_exact_check_that_fails_ends_with_1(diverged: Refold) -> None:
    (found,) = diverged("check", "diverged", "--json", code=1).json["sessions"]
    failures = {each["name"]: each["failures"] for each in found["results"] if each["failures"]}
    failure = {"event": "m4", "seq": 4, "expected": 1, "found": 0, "passed": False, "unit": "messages"}
    assert failures == {"cached prefixes": [{"name": "cached prefixes", **failure}]}


@pytest.mark.parametrize(
    ("wrong", "code", "verdict"), [(100, 1, "failed"), (0, 0, "sizes agree")], ids=["an exact figure", "none"]
)
def test_the_last_line_says_if_a_session_passed(refold: Refold, wrong: int, code: int, verdict: str) -> None:
    records = [said("m1", user("go")), said("m2", answer(0, 100))]
    records += [said("m3", user("elsewhere"), parentId=None), said("m4", answer(wrong, 10))]
    refold("append", "s", stdin=b"".join(records))
    assert refold("check", "s", code=code).lines[-1].startswith(verdict)


def test_the_last_line_counts_sessions_without_requests(refold: Refold) -> None:
    for name in ("one", "two"):
        refold("sync", FILE, "--as", name)
    proven = "proven: 14 recorded requests equal by hash"
    assert refold("check", "--all").lines[-1] == proven
    refold("append", "s", stdin=said("m1", user("go")))
    assert refold("check", "--all").lines[-1] == f"{proven}, in 2 of 3 sessions; in the others, sizes agree"


def test_all_sessions_are_checked_and_one_that_fails_is_enough(diverged: Refold) -> None:
    diverged("append", "other", stdin=said("n1", user("go")))
    found = diverged("check", "--all", "--json", code=1).json["sessions"]
    assert {each["session"] for each in found} == {"diverged", "other"}
    assert diverged("check", "other").code == 0


def test_a_damaged_session_keeps_no_other_from_being_checked(diverged: Refold) -> None:
    diverged("append", "other", stdin=said("n1", user("alone")))
    with tables(diverged.store) as stored:
        key, value = next(each for each in stored.items("events") if b"alone" in each[1])
        stored.put("events", key, value.replace(b"alone", b"along"))
    outcome = diverged("check", "--all", "--json", code=1)
    assert [each["session"] for each in outcome.json["sessions"]] == ["diverged"]
    assert "'other'" in outcome.errors
