from __future__ import annotations

import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.tampering import Tables, tables


def changed_body(stored: Tables) -> None:
    key, value = stored.items("events")[0]
    stored.put("events", key, value.replace(b"Fix the parser.", b"Fix the sparrow"))


def missing_event(stored: Tables) -> None:
    stored.delete("events", stored.items("events")[3][0])


def missing_id(stored: Tables) -> None:
    stored.delete("ids", stored.items("ids")[0][0])


def missing_position(stored: Tables) -> None:
    stored.delete("positions", stored.items("positions")[-1][0])


def garbled_event(stored: Tables) -> None:
    stored.put("events", stored.items("events")[2][0], b"\xff" * 40)


DAMAGES = [changed_body, missing_event, missing_id, missing_position, garbled_event]


def test_a_sound_store_ends_with_exit_code_0(told: Refold) -> None:
    assert "17" in told("verify").out


def test_json_of_a_sound_store_has_no_findings(told: Refold) -> None:
    assert told("verify", "--json").json == {"sessions": 1, "events": 17, "findings": []}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_store_that_was_tampered_with_ends_with_exit_code_1(told: Refold, damage) -> None:
    with tables(told.store) as stored:
        damage(stored)
    findings = told("verify", "--json", code=1).json["findings"]
    assert len(told("verify", code=1).lines) == len(findings) + 1 > 1
    for finding in findings:
        assert sorted(finding) == ["problem", "seq", "session"]


def test_a_finding_names_session_and_event(told: Refold) -> None:
    with tables(told.store) as stored:
        changed_body(stored)
    (finding,) = told("verify", "--json", code=1).json["findings"]
    assert (finding["session"], finding["seq"]) == (SESSION, 1)
    shown, total = told("verify", code=1).lines
    assert (shown, "17" in total) == (f"{SESSION} #1: {finding['problem']}", True)


def test_an_empty_store_is_sound(refold: Refold) -> None:
    refold("append", "s")
    assert refold("verify", "--json").json == {"sessions": 0, "events": 0, "findings": []}
