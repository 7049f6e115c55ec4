from __future__ import annotations

import pytest

from tests.cli.running import Refold
from tests.cli.tale import ENTRIES, SESSION
from tests.support.pi_files import line


def ids(refold: Refold, *options: str) -> list[str]:
    """The ids of the events that are listed, `import` for the import."""
    found = refold("log", SESSION, *options, "--json").json_lines
    return ["import" if each["kind"] == "import" else each["id"] for each in found]


def test_json_is_a_line_for_every_event(told: Refold) -> None:
    assert ids(told) == [*ENTRIES, "import"]


def test_json_tells_all_that_is_known_of_an_event_but_its_record(told: Refold) -> None:
    event = told("log", SESSION, "--json").json_lines[1]
    assert len(event.pop("digest")) == 64
    assert event.pop("recorded").endswith("Z")
    assert event == {
        "seq": 2,
        "id": "a1",
        "parent": "u1",
        "kind": "message",
        "time": "2025-12-08T22:00:02.000Z",
        "entry": True,
        "role": "assistant",
        "format": "pi/3",
        "cause": None,
        "position": 2,
        "tokens": {"utf16/4": 14, "bytes/4": 14},
        "bytes": 412,
    }


def test_an_event_that_is_no_node_of_the_tree_says_so(told: Refold) -> None:
    event = told("log", SESSION, "--kind", "import", "--json").json
    assert (event["entry"], event["time"], event["role"], event["parent"]) == (False, None, None, None)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--kind", "compaction"], ["c1"]),
        (["--kind", "compaction", "--kind", "label"], ["c1", "l1"]),
        (["--kind", "decision"], []),
        (["--role", "user"], ["u1", "u2", "b1", "u3"]),
        (["--role", "user", "--role", "toolResult", "--match", "arser"], ["u1"]),
        (["--kind", "message", "--role", "branchSummary"], []),
        (["--match", "parser.py", "--role", "assistant"], ["a1", "a2", "a3"]),
        (["--match", "no such text"], []),
    ],
    ids=" ".join,
)
def test_filters_hold_together(told: Refold, options: list[str], expected: list[str]) -> None:
    assert ids(told, *options) == expected


def test_events_of_the_same_append_share_their_cause(refold: Refold) -> None:
    record = {"type": "custom", "customType": "x", "cause": "one"}
    refold("append", "s", stdin=line(record) * 2)
    assert [each["cause"] for each in refold("log", "s", "--json").json_lines] == ["one", "one"]


def test_a_kind_that_only_the_session_knows_is_listed(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "wholly_new"}))
    assert [each["kind"] for each in refold("log", "s", "--kind", "wholly_new", "--json").json_lines] == [
        "wholly_new"
    ]


@pytest.mark.slow
def test_no_line_is_wider_than_its_terminal_however_long_ids_are(told: Refold) -> None:
    event = {
        "type": "thinking_level_change",
        "id": "0199aaaa-0000-7000-8000-000000000009",
        "thinkingLevel": "low",
    }
    told("append", SESSION, stdin=line(event))
    for columns in (60, 80, 100):
        printed = told.on_terminal(
            "log", SESSION, NO_COLOR="1", TERM="dumb", COLUMNS=str(columns), LINES="40"
        )
        assert max(map(len, printed.splitlines())) <= columns
        assert "(* the leaf, - not in the tree)" in printed


def test_long_ids_are_unique_prefixes_that_line_up(refold: Refold) -> None:
    long = ["0199aaaa-0000-7000-8000-000000000001", "0199bbbb-0000-7000-8000-000000000002", "short"]
    alike = [f"somebody-0199aaaa-{number}" for number in range(2)]
    for name in [*long, *alike]:
        refold("append", "s", stdin=line({"type": "custom", "customType": name, "id": name}))
    heading, *lines = refold("log", "s").lines
    assert {each.index("custom") for each in lines} == {heading.index("ROLE")}
    shown = [each.split()[1] for each in lines]
    assert [refold("show", "s", each, "--json").json["id"] for each in shown[:3]] == long
    assert ["…" in each for each in shown] == [False, False, False, True, True]
