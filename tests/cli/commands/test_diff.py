from __future__ import annotations

from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.pi_files import line
from tests.support.talk import user


def changes(refold: Refold, first: str, second: str) -> dict[str, str]:
    found = refold("diff", SESSION, first, second, "--json").json
    return {each["event"]: each["change"] for each in found["changes"]}


def test_json_tells_what_became_of_each_message_across_a_compaction(told: Refold) -> None:
    assert changes(told, "a3", "a4") == {
        "u1": "summarized",
        "a1": "summarized",
        "r1": "summarized",
        "r2": "summarized",
        "a2": "summarized",
        "r3": "summarized",
        "u2": "kept",
        "a3": "kept",
        "s1": "new",
        "c1": "new",
        "u3": "new",
        "a4": "new",
    }


def test_json_tells_tokens_before_and_after(told: Refold) -> None:
    found = told("diff", SESSION, "a3", "a4", "--json").json
    rows = {each.pop("event"): each for each in found.pop("changes")}
    del found["summaries"], found["files"]
    assert found == {
        "session": SESSION,
        "first": "a3",
        "second": "a4",
        "counter": "utf16/4",
        "exact": False,
        "estimate": True,
        "tokensBefore": 1050,
        "tokensAfter": 33,
        "sharedPrefix": 0,
    }
    assert rows["r3"] == {
        "seq": 6,
        "role": "toolResult",
        "continues": False,
        "change": "summarized",
        "tokensBefore": 1000,
        "tokensAfter": None,
    }
    assert (rows["u2"]["tokensBefore"], rows["u2"]["tokensAfter"]) == (4, 4)
    assert (rows["u3"]["tokensBefore"], rows["u3"]["tokensAfter"]) == (None, 2)


def test_a_summary_is_shown_with_its_files(told: Refold) -> None:
    assert told("diff", SESSION, "b2", "s1").lines[3:7] == [
        "summary #11, 22 characters:",
        "Expressions are worse.",
        "",
        "files of the summarized messages:",
    ]
    found = told("diff", SESSION, "b2", "s1", "--json").json
    assert found["summaries"] == [{"event": "s1", "seq": 11, "text": "Expressions are worse."}]
    assert found["files"] == {"readFiles": [], "modifiedFiles": ["src/expressions.py"]}


def test_what_goes_on_after_a_compaction_is_no_users(refold: Refold) -> None:
    on = {
        "type": "message",
        "id": "e2",
        "message": {"role": "user", "content": "continue"},
        "metadata": {"compaction_continue": True},
    }
    custom = {"type": "custom_message", "id": "e3", "customType": "compaction_continue", "content": "go on"}
    refold(
        "append",
        "s",
        stdin=line({"type": "message", "id": "e1", "message": user("hi")}) + line(on) + line(custom),
    )
    shown = [row.split() for row in refold("diff", "s", "e1", "e3").lines[1:3]]
    assert shown == [
        ["2", "e2", "continuation", "new", "-", "2"],
        ["3", "e3", "continuation", "new", "-", "2"],
    ]
    found = refold("diff", "s", "e1", "e3", "--json").json
    assert [(each["role"], each["continues"]) for each in found["changes"]] == [
        ("user", False),
        ("user", True),
        ("custom", True),
    ]
