from __future__ import annotations

import pytest

from eventstore.errors import NotFoundError
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


def test_people_see_a_line_an_event(told: Refold) -> None:
    rows = [line.split()[:6] for line in told("log", SESSION).lines[4:7]]
    assert rows == [
        ["4", "r2", "2025-12-08", "22:00:04", "toolResult", "5"],
        ["5", "a2", "2025-12-08", "22:00:05", "assistant", "7"],
        ["6", "r3", "2025-12-08", "22:00:06", "toolResult", "1,000"],
    ]


def test_the_leaf_and_events_off_the_path_are_marked(told: Refold) -> None:
    _, *others, leaf, off_path = told("log", SESSION).lines
    assert not {line.split()[0][-1] for line in others} & {"*", "-"}
    assert (leaf[6], off_path[6]) == ("*", "-")


def test_the_leaf_is_marked_wherever_it_is_listed(told: Refold) -> None:
    told("append", SESSION, stdin=line({"type": "decision", "outcome": "skip", "reason": "small"}))
    assert [each[6] for each in told("log", SESSION).lines[-3:]] == ["*", "-", "-"]


def test_events_of_the_same_append_share_their_cause(refold: Refold) -> None:
    record = {"type": "custom", "customType": "x", "cause": "one"}
    refold("append", "s", stdin=line(record) * 2)
    assert [each["cause"] for each in refold("log", "s", "--json").json_lines] == ["one", "one"]


def test_a_kind_or_role_that_neither_refold_nor_the_session_has_is_reported(told: Refold) -> None:
    kind = told.refused(NotFoundError, "log", SESSION, "--kind", "message", "--kind", "compactoin")
    has = "branch_summary, compaction, import, label, message, session_info"
    assert (kind.what, kind.name, has in kind.remedy) == ("kind of events", "compactoin", True)
    role = told.refused(NotFoundError, "log", SESSION, "--role", "usr")
    assert (role.what, role.name) == ("role of events", "usr")


def test_a_kind_that_only_the_session_knows_is_listed(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "wholly_new"}))
    assert [each["kind"] for each in refold("log", "s", "--kind", "wholly_new", "--json").json_lines] == [
        "wholly_new"
    ]


def test_what_goes_on_after_a_compaction_is_no_users(refold: Refold) -> None:
    said = {"type": "message", "id": "e1", "message": {"role": "user", "content": "continue"}}
    refold("append", "s", stdin=line({**said, "metadata": {"compaction_continue": True}}))
    assert refold("log", "s").lines[1].split()[4:6] == ["continuation", "2"]


def test_the_longest_kind_moves_nothing_out_of_its_column(told: Refold) -> None:
    event = {"type": "thinking_level_change", "id": "t1", "thinkingLevel": "high"}
    told("append", SESSION, stdin=line(event))
    heading, first, *_, last = told("log", SESSION).lines
    assert last.endswith("thinking_level_change            -  high")
    assert last.index("high") == first.index("Fix the parser.") == heading.index("TEXT")


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
