"""Sessions, generations and events found by name, prefix, title or file."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.store import begin_with, newest_generation, short_names
from eventstore import SessionWriter, open_store
from eventstore.errors import AmbiguousError, BadInputError, NotFoundError
from eventstore.records import Link
from tests.cli.running import PROJECT, Refold
from tests.cli.tale import SESSION, tale
from tests.support import claude_code
from tests.support.pi_files import entry, header, said
from tests.support.tampering import event_key, tables

OTHER = "0199bbbb-0000-7000-8000-000000000002"


def meant(refold: Refold, name: str | Path) -> str:
    """The id of the session that a name means."""
    return str(refold("audit", name, "--json").json["sessions"][0]["session"])


@pytest.fixture
def two(told: Refold, tmp_path: Path) -> Refold:
    """A store with the tale, and with another session that was written to later."""
    (tmp_path / "other.jsonl").write_bytes(header(session=OTHER) + said("hello", "x1", None))
    told("sync", "other.jsonl")
    return told


def test_last_is_no_subagent(two: Refold) -> None:
    with open_store(two.store) as log:
        SessionWriter(log, f"{OTHER}/helper").append(
            Link(relation="subagent", session=OTHER, event="x1"), parent=None
        )
    assert meant(two, "@last") == OTHER


def test_a_misspelt_title_gets_the_titles_like_it(two: Refold) -> None:
    assert "titles like it: 'The parser'" in two.refused(NotFoundError, "tree", "the parsr").remedy


def test_a_session_without_title_has_its_request(two: Refold) -> None:
    assert meant(two, "hello") == OTHER


def test_a_session_is_meant_by_its_id(two: Refold) -> None:
    assert meant(two, SESSION) == SESSION


def test_a_session_is_meant_by_a_unique_beginning_of_its_id(two: Refold) -> None:
    assert meant(two, "0199a") == SESSION


@pytest.fixture
def agents(refold: Refold, tmp_path: Path) -> Refold:
    """A store with a session of Claude Code and its two subagents."""
    aside = {"isSidechain": True}
    lines = [
        claude_code.said("a", None, "hello"),
        claude_code.said("x", None, "look around", agentId="a1", **aside),
        claude_code.said("y", None, "look elsewhere", agentId="b2", **aside),
    ]
    (tmp_path / "claude.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    refold("sync", "claude.jsonl")
    return refold


def test_a_beginning_that_a_session_shares_with_its_subagents_means_the_session(agents: Refold) -> None:
    assert meant(agents, claude_code.SESSION[:6]) == claude_code.SESSION


def test_a_subagent_is_meant_by_its_own_name(agents: Refold) -> None:
    assert meant(agents, "agent-b") == f"{claude_code.SESSION}/agent-b2"


def test_a_file_with_subagents_means_its_own_session(agents: Refold) -> None:
    assert meant(agents, "claude.jsonl") == claude_code.SESSION


def test_a_subagent_is_shown_by_its_own_name_and_its_session_by_a_beginning() -> None:
    session = claude_code.SESSION
    names = [session, f"{session}/agent-b2", "other", "other/agent-c", "third/agent-c"]
    short = short_names(names)
    assert session.startswith(short[session])
    assert len(short[session]) < len(session)
    assert [short[name] for name in names[1:]] == ["agent-b2", "other", "other/agent-c", "third/agent-c"]


def test_a_session_is_meant_by_its_title(two: Refold) -> None:
    assert meant(two, "The parser") == SESSION


def test_a_beginning_of_an_id_goes_before_a_title(two: Refold) -> None:
    two("label", OTHER, "--title", "0199a")
    assert meant(two, "0199a") == SESSION


def test_at_last_is_the_session_that_was_written_to_last(two: Refold) -> None:
    assert meant(two, "@last") == OTHER
    two("label", SESSION, "u1", "here")
    assert meant(two, "@last") == SESSION


def test_a_path_of_a_file_is_imported_first(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale())
    assert meant(refold, "tale.jsonl") == SESSION
    assert len(refold("sessions", "--json").json["sessions"]) == 1


def test_a_file_without_the_usual_ending_is_a_path_where_it_is_there(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "saved").write_bytes(tale())
    assert meant(refold, "saved") == SESSION


def test_a_path_of_a_file_that_grew_brings_what_is_new(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "tale.jsonl").write_bytes(tale() + said("one more", "u9", "i1"))
    assert told("tree", "tale.jsonl", "--json").json["leaf"] == "u9"


def test_an_id_goes_before_a_path(told: Refold, tmp_path: Path) -> None:
    (tmp_path / SESSION).write_text("something else")
    assert meant(told, SESSION) == SESSION


def test_a_session_whose_id_looks_like_a_path_is_within_reach(refold: Refold) -> None:
    refold("append", "plans/a.jsonl", stdin='{"type":"custom","customType":"x"}')
    assert meant(refold, "plans/a.jsonl") == "plans/a.jsonl"


def test_a_new_session_has_no_files_name(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("a file")
    assert told.refused(BadInputError, "fork", SESSION, "--as", "there").source == "session 'there'"


@pytest.fixture
def generations(told: Refold, tmp_path: Path) -> Refold:
    """A store in which the tale's file has been written anew since, with other ids: two generations."""
    (tmp_path / "tale.jsonl").write_bytes(re.sub(rb'"([a-z][0-9])"', rb'"new-\1"', tale()))
    told("sync", "tale.jsonl")
    return told


def test_earlier_generations_of_a_session_are_listed_below_the_newest(generations: Refold) -> None:
    listed = [each["id"] for each in generations("sessions", "--all", "--json").json["sessions"]]
    assert listed == [f"{SESSION}~2", SESSION]


def test_a_beginning_of_an_id_means_the_newest_generation(generations: Refold) -> None:
    assert meant(generations, "0199") == f"{SESSION}~2"


def test_a_whole_id_means_the_generation_that_has_it(generations: Refold) -> None:
    assert meant(generations, SESSION) == SESSION
    assert meant(generations, f"{SESSION}~2") == f"{SESSION}~2"


def test_a_title_means_the_newest_generation(generations: Refold) -> None:
    assert meant(generations, "The parser") == f"{SESSION}~2"


def test_a_generation_is_meant_by_a_beginning_and_its_number(generations: Refold) -> None:
    assert meant(generations, "0199~1") == SESSION
    assert meant(generations, "0199~2") == f"{SESSION}~2"
    assert generations.refused(NotFoundError, "tree", "0199~3").name == "0199~3"


def test_the_tenth_generation_is_newer_than_the_ninth(refold: Refold) -> None:
    for name in ("story~9", "story~10"):
        refold("append", name, stdin='{"type":"custom","customType":"x"}')
    assert meant(refold, "story") == "story~10"


def test_a_tilde_in_an_id_does_not_make_it_a_generation(refold: Refold) -> None:
    for name in ("a~draft", "a~02"):
        refold("append", name, stdin='{"type":"custom","customType":"x"}')
    assert meant(refold, "a~d") == "a~draft"
    assert sorted(refold.refused(AmbiguousError, "tree", "a~").candidates) == ["a~02", "a~draft"]


def event(refold: Refold, name: str) -> str:
    """The id of the event that a name means."""
    return str(refold("show", SESSION, name, "--json").json["id"])


def test_an_event_is_meant_by_its_id(told: Refold) -> None:
    assert event(told, "u2") == "u2"


def test_an_event_is_meant_by_a_unique_beginning_of_its_id(told: Refold) -> None:
    assert event(told, "import-") == event(told, "#17")


def test_an_event_is_meant_by_its_label(told: Refold) -> None:
    told("label", SESSION, "a3", "a")
    assert event(told, "a") == "a3"


def test_an_id_goes_before_a_label(told: Refold) -> None:
    told("label", SESSION, "a3", "u2")
    assert event(told, "u2") == "u2"


def test_a_label_that_was_removed_means_nothing(told: Refold) -> None:
    told("label", SESSION, "a3", "there")
    told("label", SESSION, "there", "")
    assert told.refused(NotFoundError, "show", SESSION, "there").name == "there"


def test_a_label_of_nothing_means_nothing(refold: Refold, tmp_path: Path) -> None:
    labelled = entry("l1", "e1", "label", targetId="ghost", label="there")
    (tmp_path / "labelled.jsonl").write_bytes(header() + said("hello", "e1", None) + labelled)
    assert refold.refused(NotFoundError, "show", "labelled.jsonl", "there").name == "there"


def test_a_label_of_several_entries_is_ambiguous(told: Refold) -> None:
    for labelled in ("a3", "u2"):
        told("label", SESSION, labelled, "there")
    error = told.refused(AmbiguousError, "go", SESSION, "there")
    assert (error.name, sorted(error.candidates)) == ("there", ["a3", "u2"])


def test_a_leaf_is_meant_by_its_label(told: Refold) -> None:
    told("label", SESSION, "a3", "there")
    assert told("context", SESSION, "--leaf", "there").raw == told("context", SESSION, "--leaf", "a3").raw


def test_an_event_is_meant_by_its_number(told: Refold) -> None:
    assert event(told, "#12") == "c1"


@pytest.mark.parametrize(("name", "code"), [("5", 1), ("17", 0), ("1", 1)])
def test_who_leaves_out_the_sign_of_a_number_is_told_of_it(refold: Refold, name: str, code: int) -> None:
    records = [
        f'{{"type":"custom","customType":"x","id":"{each}"}}'
        for each in ("11aa", "12bb", *map(chr, range(97, 115)))
    ]
    refold("append", "s", stdin="\n".join([*records, '{"type":"custom","customType":"x","id":"17cc"}']))
    outcome = refold("show", "s", name, code=code)
    assert f"'#{name}'" in outcome.errors.splitlines()[0]


def test_digits_that_are_no_number_of_an_event_are_a_beginning_of_an_id(refold: Refold) -> None:
    refold("append", "s", stdin='{"type":"custom","customType":"x","id":"2025-1"}')
    assert refold("show", "s", "2025").errors == ""


def test_an_id_goes_before_a_number(refold: Refold) -> None:
    refold(
        "append",
        "s",
        stdin='{"type":"custom","customType":"x"}\n{"type":"custom","customType":"y","id":"#1"}',
    )
    assert refold("show", "s", "#1", "--json").json["seq"] == 2


@pytest.mark.parametrize("command", [["context", "--json"], ["files", "--json"]])
def test_a_leaf_is_meant_like_an_event_or_as_the_root(told: Refold, command: list[str]) -> None:
    name, *options = command
    assert (
        told(name, SESSION, "--leaf", "#8", *options).raw == told(name, SESSION, "--leaf", "a3", *options).raw
    )
    assert told(name, SESSION, "--leaf", "root", *options).raw != told(name, SESSION, *options).raw


def test_a_leaf_that_is_no_node_of_the_tree_is_reported(told: Refold) -> None:
    error = told.refused(NotFoundError, "context", SESSION, "--leaf", "#17")
    assert (error.what, error.name) == ("entry", "#17")
    assert error.remedy.endswith("such as '#16'")


def test_a_leaf_that_came_later_than_the_state_asked_for_is_reported(told: Refold) -> None:
    error = told.refused(NotFoundError, "context", SESSION, "--leaf", "a4", "--as-of", "5")
    assert (error.what, error.name) == ("event", "a4")


NO_EVENTS: list[tuple[tuple[str, ...], str]] = [
    *((("show", name), name) for name in ("nope", "", "#0", "#18", "#99", "#", "#x", "#²", "#" + "9" * 5000)),
    (("tree", "--as-of", "99"), "#99"),
    (("context", "--leaf", "nope"), "nope"),
    (("undo", "nope"), "nope"),
    (("label", "#99", "x"), "#99"),
]


def test_an_event_that_is_not_there_is_reported_with_the_command_that_lists_them(told: Refold) -> None:
    for (command, *rest), name in NO_EVENTS:
        error = told.refused(NotFoundError, command, SESSION, *rest)
        assert (error.what, error.name, f"refold log {SESSION}" in error.remedy) == ("event", name, True)


@pytest.mark.parametrize("command", ["context", "files", "audit", "check"])
def test_pointers_of_a_damaged_event_are_reported_as_damage(told: Refold, command: str) -> None:
    key = event_key(1, 5)
    for offset in range(0, 96, 5):
        with tables(told.store) as stored:
            whole = stored.get("events", key)
            stored.put("events", key, whole[:offset] + bytes([whole[offset] ^ 0x81]) + whole[offset + 1 :])
        outcome = told(command, SESSION, code=None)
        assert outcome.code == 0 or "run 'refold verify'" in outcome.errors, offset
        with tables(told.store) as stored:
            stored.put("events", key, whole)


@pytest.mark.slow
def test_a_store_that_this_process_has_open_can_be_asked(told: Refold) -> None:
    script = (
        "import sys\n"
        "from eventstore import open_store\n"
        "from cli.main import main\n"
        "with open_store(sys.argv[1]):\n"
        "    main(['stats'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, told.store],
        env=told.environment(PYTHONPATH=str(PROJECT)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, told("stats").out, "")


UUID = "0199aaaa-0000-7000-8000-000000000001"
NEXT_UUID = "0199aaaa-0001-7000-8000-000000000001"


def test_of_names_the_tenth_generation_is_newer_than_the_ninth() -> None:
    assert newest_generation(["s~9", "s", "s~10"]) == "s~10"


def test_names_of_several_sessions_have_no_newest_generation() -> None:
    assert newest_generation(["s~2", "t"]) is None
    assert newest_generation([]) is None


def test_a_beginning_with_a_number_stands_for_that_generation() -> None:
    names = [UUID, f"{UUID}~2", NEXT_UUID]
    assert begin_with("0199aaaa-0000~1", names) == [UUID]
    assert begin_with("0199~2", names) == [f"{UUID}~2"]
    assert begin_with("0199aaaa-0000", names) == [UUID, f"{UUID}~2"]


def test_long_names_are_shown_by_a_beginning_that_no_other_has() -> None:
    names = [UUID, NEXT_UUID, "demo-rate-limiter"]
    assert list(short_names(names).values()) == ["0199aaaa-0000", "0199aaaa-0001", "demo-rate-limiter"]


def test_generations_of_a_session_are_shown_by_one_beginning_and_their_numbers() -> None:
    assert list(short_names([UUID, f"{UUID}~2"]).values()) == ["0199aaaa-0000~1", "0199aaaa-0000~2"]
    assert short_names(["demo", "demo~2", f"{NEXT_UUID}~2"]) == {
        "demo": "demo",
        "demo~2": "demo~2",
        f"{NEXT_UUID}~2": "0199aaaa-0001~2",
    }


def test_names_that_begin_alike_for_long_stay_whole() -> None:
    names = [UUID, f"{UUID}-again"]
    assert list(short_names(names).values()) == names


@given(st.sets(st.text("ab-~2", min_size=1, max_size=40), max_size=20))
def test_what_is_shown_of_a_name_stands_for_it_alone(names: set[str]) -> None:
    for whole, shown in short_names(sorted(names)).items():
        assert shown == whole or begin_with(shown, sorted(names)) == [whole]


LARGE = header() + b"".join(said("word " * 2000, f"e{number}", None) for number in range(600))


@pytest.fixture
def large(refold: Refold, tmp_path: Path) -> Refold:
    (tmp_path / "large.jsonl").write_bytes(LARGE)
    return refold


@pytest.mark.slow
def test_on_a_terminal_a_large_file_is_imported_under_a_bar(large: Refold) -> None:
    assert "importing" in large.on_terminal("sync", "large.jsonl")


@pytest.mark.slow
def test_off_a_terminal_there_is_no_bar(large: Refold) -> None:
    assert large.program("sync", "large.jsonl").errors == ""


def test_a_small_file_is_worth_no_bar(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "small.jsonl").write_bytes(header() + said("hello", "e1", None))
    assert "importing" not in refold.on_terminal("audit", "small.jsonl")


def test_a_file_that_holds_less_than_the_store_has_of_its_session_is_reported(
    refold: Refold, tmp_path: Path
) -> None:
    longer = header() + said("hello", "e1", None) + said("again", "e2", "e1")
    (tmp_path / "longer.jsonl").write_bytes(longer)
    (tmp_path / "shorter.jsonl").write_bytes(header() + said("hello", "e1", None))
    assert refold("audit", "longer.jsonl").errors == ""
    told = refold("audit", "shorter.jsonl")
    (note,) = told.notes
    assert [each in note for each in ("shorter.jsonl: ", " 1 of the 2 ")] == [True, True]
    assert "2 entries" in told.out


@pytest.mark.slow
def test_a_file_that_is_only_named_is_imported_under_a_bar_too(large: Refold) -> None:
    assert "importing large.jsonl" in large.on_terminal("audit", "large.jsonl")
