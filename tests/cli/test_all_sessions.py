"""The commands over all of a person's sessions, with every harness in the registry and one that was just added."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from sqlite3 import connect
from typing import Any, Final

import pytest

from eventstore import open_store
from eventstore.files.discovery import session_files
from eventstore.files.watching import Watcher
from eventstore.harnesses import harnesses
from eventstore.harnesses.base import Format
from tests.cli.running import Refold
from tests.cli.test_every_harness import FILES, HARNESSES, STORY, TITLE, entry, step
from tests.support.madeup.format import HEADER
from tests.support.madeup.sessions import record
from tests.support.opencode import Database

MADE_UP: Final = "madeup"
TOKENS: Final = 3_920
"""Tokens of the story's four calls, sent and received."""
TOKEN: Final = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105


def made_up_file() -> bytes:
    """The story as the made-up harness writes it."""
    tools = {"read": ("look", "at"), "run": ("do", "line"), "edit": ("put", "into"), "write": ("put", "into")}
    records: list[dict[str, Any]] = []
    above = None
    for kind, name, *said in STORY:
        message: dict[str, Any] = {}
        if kind == "user":
            message = {"who": "person", "text": said[0]}
        elif kind == "result":
            message = {"who": "tool", "text": said[1], "answers": said[0]}
        elif kind == "answer":
            blocks, (read, written) = said
            calls = [
                {"id": each[1], "tool": tools[each[0]][0], "with": {tools[each[0]][1]: each[2]}}
                for each in blocks
                if not isinstance(each, str)
            ]
            text = " ".join(each for each in blocks if isinstance(each, str))
            message = {"who": "model", "text": text, "calls": calls, "tokens": read + written + 5}
        fields = {"text": said[0]} if kind == "compaction" else {"message": message}
        records.append(record("summary" if kind == "compaction" else "say", name, above, **fields))
        above = name
    records.append(record("note", "t1", above, title=TITLE, by="PERSON"))
    return HEADER + b"".join(json.dumps(each).encode() + b"\n" for each in records)


CONTENTS: Final[dict[str, Callable[[], bytes]]] = {**FILES, MADE_UP: made_up_file}


@pytest.fixture(params=[*HARNESSES, MADE_UP])
def harness(request: pytest.FixtureRequest) -> Format:
    if request.param == MADE_UP:
        request.getfixturevalue("madeup")
    return next(each for each in harnesses() if each.name == request.param)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def file(harness: Format, home: Path) -> Path:
    """The story in the usual place of its harness."""
    return kept(harness, home / harness.places[0].default.removeprefix("~/"))


@pytest.fixture
def synced(refold: Refold, file: Path, home: Path) -> Refold:
    assert file.exists()
    refold("sync", "--home", home)
    return refold


def kept(harness: Format, place: Path) -> Path:
    """Write the story below the place of a harness, and return its path."""
    numbers = count()
    names = (
        f"name-{next(numbers)}" if part == "*" else part.replace("*", f"name-{next(numbers)}")
        for part in harness.places[0].pattern.split("/")
        if part != "**"
    )
    path = place.joinpath(*names)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(CONTENTS[harness.name]())
    return path


def totals(summary: Any) -> tuple[int, int, int]:
    return tuple(sum(each[name] for each in summary["projects"]) for name in ("new", "changed", "unchanged"))  # type: ignore[return-value]


def found(refold: Refold, *arguments: str, code: int = 0) -> dict[str, str]:
    hits = refold("search", *arguments, "--json", code=code).json["hits"]
    return {step(hit["id"]): hit["state"] for hit in hits}


def test_it_is_found_in_its_usual_place(refold: Refold, harness: Format, file: Path, home: Path) -> None:
    for options, expected in (("--dry-run",), (1, 0, 0)), ((), (1, 0, 0)), ((), (0, 0, 1)):
        summary = refold("sync", "--home", home, *options, "--json").json
        assert totals(summary) == expected
        (project,) = summary["projects"]
        assert (project["harness"], file.is_relative_to(project["folder"])) == (harness.name, True)


def test_it_is_found_where_a_variable_says(
    refold: Refold, harness: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    variables = {name for each in harnesses() for place in each.places for name in place.environment}
    for name in variables:
        monkeypatch.delenv(name, raising=False)
    for number, (name, place) in enumerate(harness.places[0].environment.items()):
        path = kept(harness, tmp_path / f"moved-{number}" / place)
        with monkeypatch.context() as patch:
            patch.setenv(name, str(tmp_path / f"moved-{number}"))
            summary = refold("sync", "--json").json
        assert totals(summary) == (1, 0, 0)
        assert path.is_relative_to(summary["projects"][0]["folder"])


@pytest.mark.slow
def test_a_file_that_grows_is_followed_through_torn_lines(
    refold: Refold, harness: Format, file: Path, home: Path
) -> None:
    whole = file.read_bytes()
    ends = [len(whole) * share // 7 for share in range(2, 7)]
    for end in (*ends, len(whole)):
        file.write_bytes(whole[:end])
        refold("sync", "--home", home)
    (session,) = refold("sessions", "--all", "--json").json["sessions"]
    assert session["harness"] == harness.name
    assert refold("export", "@last", "-o", "-").raw == whole
    refold("verify")


@pytest.mark.slow
@pytest.mark.parametrize("polls", [False, True], ids=["notified", "polling"])
def test_a_watch_imports_what_is_appended(
    harness: Format, file: Path, home: Path, tmp_path: Path, *, polls: bool
) -> None:
    if harness.name == "opencode":
        pytest.skip("its exports are written anew: its database is followed below")
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:4]))
    os.utime(file, (1, 1))
    folder = str(home / harness.places[0].default.removeprefix("~/"))
    with open_store(tmp_path / "store") as log:
        watcher = Watcher(log, partial(session_files, {}, [str(home)]), [folder], polls=polls)
        (first,) = watcher.sync()
        assert [each.added > 0 for each in first.sessions] == [True]
        news = watcher.run()
        with file.open("ab") as writer:
            for line in lines[4:8]:
                writer.write(line)
                writer.flush()
                assert sum(each.added for each in next(news).sessions) == 1
        news.close()


@pytest.mark.slow
def test_a_watch_follows_a_database(home: Path, tmp_path: Path) -> None:
    folder = home / ".local/share/opencode"
    folder.mkdir(parents=True)
    database = Database(folder)
    with closing(connect(database.path)) as opened, open_store(tmp_path / "store") as log:
        opened.execute("PRAGMA journal_mode=WAL")
        database.begin()
        watcher = Watcher(log, partial(session_files, {}, [str(home)]), [str(folder)])
        (first,) = watcher.sync()
        assert [each.added for each in first.sessions] == [1]
        news = watcher.run()
        for number in range(3):
            database.ask(f"msg_{number}", "hi")
            added = 0
            while added < 2:
                added += sum(each.added for each in next(news).sessions)
        news.close()


def test_sessions_has_its_figures(synced: Refold, harness: Format) -> None:
    (session,) = synced("sessions", "--harness", harness.name, "--json").json["sessions"]
    assert (session["harness"], session["title"], session["compactions"]) == (harness.name, TITLE, 1)
    spent = session["spent"]
    assert spent["calls"] == 4
    assert sum(spent[name] for name in ("input", "cacheRead", "cacheWrite", "output")) == TOKENS


@pytest.mark.parametrize("by", ["project", "day", "model", "harness"])
def test_stats_add_its_tokens_up(synced: Refold, harness: Format, by: str) -> None:
    (group,) = synced("stats", "--by", by, "--json").json["groups"]
    assert by != "harness" or group[by] == harness.name
    assert sum(group[name] for name in ("input", "cacheRead", "cacheWrite", "output")) == TOKENS


def test_search_tells_what_the_model_still_has(synced: Refold, harness: Format) -> None:
    parser = found(synced, "parser", "--harness", harness.name)
    assert {parser[entry(harness.name, name)] for name in ("u1", "a2", "r1")} == {"compacted"}
    assert parser["c1"] == "context"
    lost = found(synced, "parser", "--gone")
    assert set(lost) == {name for name, state in parser.items() if state == "compacted"}
    assert {name.partition("-")[0]: state for name, state in found(synced, "ls").items()} == {
        "a1": "compacted"
    }
    assert found(synced, "tests") == {"u2": "context", "a3": "context"}
    assert found(synced, "nowhere", code=1) == {}


def test_a_document_has_a_session_or_branch(synced: Refold, harness: Format) -> None:
    whole = synced("export", "@last", "--format", "markdown", "-o", "-").out
    end = entry(harness.name, "r3")
    branch = synced("export", "@last", "--format", "markdown", "--leaf", end, "-o", "-").out
    assert [line for line in whole.splitlines() if line.startswith("## ")] == [
        "## User",
        "## Assistant",
        "## Compaction",
        "## User",
        "## Assistant",
    ]
    assert (whole.count("\n<details>"), branch.count("\n<details>")) == (5, 3)
    assert ("They pass." in whole, "They pass." in branch) == (True, False)


@pytest.mark.slow
def test_redaction_leaves_no_secret_in_any_output(
    refold: Refold, file: Path, home: Path, tmp_path: Path
) -> None:
    file.write_bytes(file.read_bytes().replace(b"Now the tests.", f"Now with {TOKEN}.".encode()))
    refold("sync", "--home", home)
    page = tmp_path / "page.html"
    for shown in (
        ("export", "@last", "-o", "-"),
        ("export", "@last", "--format", "markdown", "-o", "-"),
        ("context", "@last", "--json"),
        ("search", "now", "--json"),
        ("report", "@last", "-o", str(page)),
    ):
        outputs = []
        for options in ((), ("--redact",)):
            page.unlink(missing_ok=True)
            printed = refold(*shown, *options).raw
            outputs.append(page.read_bytes() if page.exists() else printed)
        assert [TOKEN.encode() in each for each in outputs] == [True, False], shown
