"""A body on stdout, its repairs on stderr, and nothing to send where the API would refuse it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest

from eventstore.errors import BadInputError
from tests.cli.running import Refold
from tests.cli.tale import ENTRIES, SESSION, tale
from tests.support import claude_code, reference_pi
from tests.support.madeup import format as madeup_format
from tests.support.pi_files import line
from tests.support.talk import assistant, call, user
from tests.support.tampering import tables
from tests.support.validator import validate

RECORDS = [json.loads(record) for record in tale().splitlines()[1:]]


def test_damage_that_a_context_does_not_need_hides_it_not(told: Refold) -> None:
    expected = told("context", SESSION, "--json").json["messages"]
    with tables(told.store) as stored:
        key, value = stored.items("events")[1]
        stored.put("events", key, value[:-60] + b"\xff" * 60)
    assert told("context", SESSION, "--json").json["messages"] == expected
    assert told("context", SESSION).code == 0


PERSON = {"who": "person", "text": "x"}
MODEL = {"who": "model", "text": "y"}


def dumped(record: dict[str, object]) -> bytes:
    return json.dumps({"after": None, **record}).encode()


@pytest.mark.parametrize("leaf", ENTRIES)
def test_the_pi_format_is_what_pi_builds_at_every_leaf(told: Refold, leaf: str) -> None:
    given = told("context", SESSION, "--leaf", leaf, "--format", "pi").json
    assert given == reference_pi.context(RECORDS, leaf)


def test_the_pi_format_holds_messages_thinking_level_and_model(told: Refold) -> None:
    given = told("context", SESSION, "--format", "pi").json
    assert list(given) == ["messages", "thinkingLevel", "model"]
    assert given["thinkingLevel"] == "off"
    assert given["model"] == {"provider": "p", "modelId": "m"}


class TestAnotherHarness:
    @pytest.fixture
    def told(self, madeup: None, refold: Refold, tmp_path: Path) -> Refold:
        del madeup
        records = [
            {"kind": "say", "in": "one", "id": "a", "message": PERSON},
            {"kind": "say", "in": "one", "id": "b", "after": "a", "group": "g", "message": MODEL},
            {"kind": "say", "in": "one", "id": "c", "after": "b", "group": "g", "message": MODEL},
            {"kind": "exchange", "in": "one", "id": "d", "after": "c", "messages": [PERSON, MODEL]},
        ]
        (tmp_path / "file").write_bytes(madeup_format.HEADER + b"\n".join(map(dumped, records)))
        refold("sync", "file")
        return refold

    def test_the_native_format_is_what_its_own_harness_builds(self, told: Refold) -> None:
        messages = told("context", "one", "--format", "native").json["messages"]
        assert [message["text"] for message in messages] == ["x", "y y", "x", "y"]

    def test_the_format_of_another_harness_is_refused_with_the_one_that_fits(self, told: Refold) -> None:
        refused = told("context", "one", "--format", "pi", code=2)
        assert (refused.out, "--format native" in refused.errors) == ("", True)

    def test_every_message_names_all_records_that_it_shows(self, told: Refold) -> None:
        messages = told("context", "one", "--json").json["messages"]
        assert [message["records"] for message in messages] == [["a"], ["b", "c"], ["d"], ["d"]]
        assert [message["event"] for message in messages] == ["a", "b", "d", "d"]


@pytest.mark.parametrize("leaf", ENTRIES)
def test_the_native_format_of_a_session_of_pi_is_the_pi_format(told: Refold, leaf: str) -> None:
    native = told("context", SESSION, "--leaf", leaf, "--format", "native").raw
    assert native == told("context", SESSION, "--leaf", leaf, "--format", "pi").raw


def test_the_context_at_the_root_is_empty(told: Refold) -> None:
    given = told("context", SESSION, "--leaf", "root", "--format", "pi").json
    assert given == {"messages": [], "thinkingLevel": "off", "model": None}


def test_as_of_an_event_the_context_is_as_it_was(told: Refold) -> None:
    for seq, leaf in ((2, "a1"), (10, "b2"), (12, "c1"), (17, "i1")):
        as_of = told("context", SESSION, "--as-of", str(seq), "--format", "pi").json
        assert as_of == reference_pi.context(RECORDS, leaf)


def test_json_tells_of_every_message_its_event_fate_and_tokens(told: Refold) -> None:
    found = told("context", SESSION, "--json").json
    rows = [
        [each[name] for name in ("event", "seq", "kind", "role", "fate", "tokens")]
        for each in found["messages"]
    ]
    assert rows == [
        ["c1", 12, "compaction", "compactionSummary", "summary", 5],
        ["u2", 7, "message", "user", "kept", 4],
        ["a3", 8, "message", "assistant", "kept", 12],
        ["s1", 11, "branch_summary", "branchSummary", "summary", 6],
        ["u3", 13, "message", "user", "kept", 2],
        ["a4", 14, "message", "assistant", "kept", 4],
    ]


def test_a_message_of_one_record_names_that_one(told: Refold) -> None:
    messages = told("context", SESSION, "--json").json["messages"]
    assert [each["records"] for each in messages] == [[each["event"]] for each in messages]


def test_jsons_messages_are_those_of_the_pi_format(told: Refold) -> None:
    messages = told("context", SESSION, "--format", "pi").json["messages"]
    assert [each["message"] for each in told("context", SESSION, "--json").json["messages"]] == messages


def test_json_tells_where_it_stands_and_how_it_counted(told: Refold) -> None:
    found = told("--counter", "bytes/4", "context", SESSION, "--leaf", "#8", "--as-of", "9", "--json").json
    del found["messages"]
    assert found == {
        "session": SESSION,
        "leaf": "a3",
        "asOf": 9,
        "rules": "pi",
        "counter": "bytes/4",
        "exact": False,
        "estimate": True,
        "tokens": 1050,
        "thinkingLevel": "off",
        "model": {"provider": "p", "modelId": "m"},
        "gaps": [{"what": "system prompt and tool definitions", "event": None, "seq": 0, "tokens": 988}],
    }


def test_json_goes_before_a_format(told: Refold) -> None:
    both = told("context", SESSION, "--json", "--format", "native").raw
    assert both == told("context", SESSION, "--json").raw


def test_an_extensions_message_is_injected(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "custom_message", "customType": "x", "content": "hi"}))
    (message,) = refold("context", "s", "--json").json["messages"]
    assert (message["fate"], message["role"]) == ("injected", "custom")


def test_settings_are_those_of_the_branch(told: Refold) -> None:
    told("append", SESSION, stdin=line({"type": "thinking_level_change", "thinkingLevel": "high"}))
    assert told("context", SESSION, "--json").json["thinkingLevel"] == "high"
    assert told("context", SESSION, "--leaf", "i1", "--json").json["thinkingLevel"] == "off"


@pytest.mark.parametrize(
    "given",
    [
        ("--model", "x"),
        ("--system", "-"),
        ("--tools", "-"),
        ("--cache-breakpoints", "0"),
    ],
)
@pytest.mark.parametrize("form", [(), ("--format", "pi")])
def test_options_of_a_request_are_refused_with_another_format(
    told: Refold, form: tuple[str, ...], given: tuple[str, ...]
) -> None:
    told.refused(click.UsageError, "context", SESSION, *form, *given, code=2)


def test_a_long_line_is_cut_with_a_sign_and_keeps_the_end_of_a_path(refold: Refold) -> None:
    said = f"Read /{'folder/' * 80}parser.py {'word ' * 100}"
    message = {"type": "message", "message": {"role": "user", "content": said}}
    refold("append", "s", stdin=line(message))
    shown = refold("context", "s").lines[1]
    assert (shown.startswith("Read …/parser.py word "), shown[-1]) == (True, "…")


MESSAGES = [
    ["compactionSummary", "c1", "#12", "5", "The parser is fixed."],
    ["user", "u2", "#7", "4", "Now the tests."],
    ["assistant", "a3", "#8", "12", '→ read {"path":"tests/test_parser.py"}', "They pass."],
    ["branchSummary", "s1", "#11", "6", "Expressions are worse."],
    ["user", "u3", "#13", "2", "Thanks!"],
    ["assistant", "a4", "#14", "4", "You are welcome."],
]


def test_a_context_is_shown_message_by_message_with_totals_at_the_end(told: Refold) -> None:
    *messages, end = told("context", SESSION).out.rstrip("\n").split("\n\n")
    gap, totals = end.split("\n")
    shown = [message.split("\n") for message in messages]
    assert [[*heading.replace("about ", "").split()[1:5], *text] for heading, *text in shown] == MESSAGES
    assert all("  about " in heading for heading, *_ in shown)
    assert re.findall(r"#?\d+|\w+/\w+", totals) == ["6", "33", "utf16/4", "1", "#17", "p/m"]
    assert re.findall(r"\d+", gap) == ["659"]


def test_a_long_message_is_shown_by_its_beginning_and_says_how_much_is_left_out(refold: Refold) -> None:
    said = {"type": "message", "message": {"role": "user", "content": "\n".join(map(str, range(100)))}}
    refold("append", "s", stdin=line(said))
    *shown, left_out = refold("context", "s").lines[1:8]
    assert (shown, left_out.split()[:2]) == (["0", "1", "2", "3", "4", "5"], ["…", "94"])


def test_in_full_a_message_is_whole(refold: Refold) -> None:
    words = "\n".join(["x" * 900, *map(str, range(100))])
    refold("append", "s", stdin=line({"type": "message", "message": {"role": "user", "content": words}}))
    assert words in refold("context", "s", "--full").out


def test_a_model_that_no_message_names_is_none(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "message", "message": {"role": "assistant", "content": "hi"}}))
    assert "model none" in refold("context", "s").lines[-1]


def test_a_rewritten_message_says_so(refold: Refold) -> None:
    shown = {"type": "rewrite", "reason": "prune", "targets": [{"target": "e1", "shown": "short"}]}
    words = {"type": "message", "id": "e1", "message": {"role": "user", "content": "long " * 40}}
    refold("append", "s", stdin=line(words) + line(shown))
    heading, text = refold("context", "s").lines[:2]
    assert (heading.split()[1:6], heading.split()[-1], text) == (
        ["user", "e1", "#1", "about", "2"],
        "rewritten",
        "short",
    )


def test_the_context_at_the_root_is_empty_and_says_where_it_stands(told: Refold) -> None:
    (totals,) = told("context", SESSION, "--leaf", "root").lines
    assert re.findall(r"#?\d+", totals) == ["0", "0", "16", "4", "#17"]


def test_what_goes_on_after_a_compaction_stands_and_is_marked(refold: Refold) -> None:
    said = {"type": "message", "id": "e1", "message": {"role": "user", "content": "continue"}}
    refold("append", "s", stdin=line({**said, "metadata": {"compaction_continue": True}}))
    heading, text = refold("context", "s").lines[:2]
    assert (heading.split()[-1], text) == ("injected", "continue")


ASKED = ("context", SESSION, "--format", "anthropic")


def test_the_body_is_one_line_on_stdout(told: Refold) -> None:
    outcome = told(*ASKED)
    assert (outcome.raw.count(b"\n"), outcome.raw[-1:]) == (1, b"\n")
    assert list(outcome.json) == ["model", "max_tokens", "messages"]
    assert (outcome.json["model"], outcome.json["max_tokens"]) == ("m", 8192)


def test_the_body_says_what_the_model_is_sent(told: Refold) -> None:
    messages = told(*ASKED).json["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert messages[3]["content"] == [{"type": "text", "text": "You are welcome."}]


@pytest.mark.parametrize("leaf", ENTRIES[1:])
def test_the_api_takes_the_body_at_every_leaf_that_has_a_model(told: Refold, leaf: str) -> None:
    assert validate(told(*ASKED, "--leaf", leaf).raw) == []


def test_a_repair_is_a_note_on_stderr(told: Refold) -> None:
    for options, event in (((), "a3"), (("--leaf", "a2"), "a2")):
        (note,) = told(*ASKED, *options).notes
        assert (f" {event}: " in note, "(missing-result)" in note) == (True, True)


def test_repairs_by_one_rule_are_one_note_and_in_full_a_note_each(refold: Refold) -> None:
    calls = [call("read", f"k{number}", path="x") for number in range(3)]
    refold("append", "s", stdin=line({"type": "message", "id": "a", "message": assistant(*calls, model="m")}))
    in_short = refold("context", "s", "--format", "anthropic").notes
    (short,) = (each for each in in_short if "(missing-result)" in each)
    assert ("(k0)" in short, " 2 more " in short, "(k1)" in short) == (True, True, False)
    in_full = refold("context", "s", "--format", "anthropic", "--full").notes
    missing = [each for each in in_full if "(missing-result)" in each]
    assert [f"(k{number})" in each for number, each in enumerate(missing)] == [True] * 3


def test_json_is_body_repairs_and_violations(told: Refold) -> None:
    outcome = told(*ASKED, "--json")
    (repair,) = outcome.json["repairs"]
    assert (repair["rule"], repair["event"], "(k4)" in repair["action"]) == ("missing-result", "a3", True)
    assert (outcome.json["body"], outcome.json["violations"]) == (told(*ASKED).json, [])
    assert outcome.errors == ""


def test_what_the_api_would_refuse_is_an_error_and_no_body(told: Refold) -> None:
    outcome = told(*ASKED, "--leaf", "u1", code=1)
    assert outcome.raw == b""
    assert (outcome.errors.count("\n"), "--model" in outcome.errors) == (1, True)


def test_a_leaf_at_which_nothing_was_said_is_an_error(told: Refold) -> None:
    outcome = told(*ASKED, "--leaf", "root", "--model", "claude", code=1)
    assert (outcome.raw, outcome.errors.count("\n"), "--leaf" in outcome.errors) == (b"", 1, True)


def test_json_tells_of_violations_and_the_exit_code_is_1(told: Refold) -> None:
    outcome = told(*ASKED, "--leaf", "u1", "--json", code=1)
    (violation,) = outcome.json["violations"]
    assert (violation["rule"], violation["path"]) == ("model", "model")
    assert outcome.json["body"]["model"] == ""


def test_a_model_can_be_given(told: Refold) -> None:
    assert told(*ASKED, "--leaf", "u1", "--model", "claude-x").json["model"] == "claude-x"


def test_system_prompt_and_tools_come_from_files(told: Refold, tmp_path: Path) -> None:
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    (tmp_path / "system.md").write_text("Be brief. é\n", "utf-8")
    (tmp_path / "tools.json").write_text(json.dumps(tools), "utf-8")
    body = told(*ASKED, "--system", "system.md", "--tools", "tools.json").json
    assert (body["system"], body["tools"]) == ("Be brief. é\n", tools)


def test_a_system_prompt_can_come_from_standard_input(told: Refold) -> None:
    assert told(*ASKED, "--system", "-", stdin="Be brief.").json["system"] == "Be brief."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "content", "source"), [("--system", b"\xff", "given"), ("--tools", b"{", "tools")]
)
def test_files_that_cannot_be_sent_are_an_error(
    refold: Refold, tmp_path: Path, option: str, content: bytes, source: str
) -> None:
    refold("append", "s", stdin=line({"type": "message", "message": user("hi")}))
    (tmp_path / "given").write_bytes(content)
    asking = ("context", "s", "--format", "anthropic", "--model", "m", option, "given")
    assert refold.refused(BadInputError, *asking).source == source


@pytest.mark.parametrize("content", [b'[{"name":"x"}]', b'[{"name":"a b"}]'])
def test_tools_that_the_api_would_refuse_are_an_error(refold: Refold, tmp_path: Path, content: bytes) -> None:
    refold("append", "s", stdin=line({"type": "message", "message": user("hi")}))
    (tmp_path / "given").write_bytes(content)
    asking = ("context", "s", "--format", "anthropic", "--model", "m", "--tools", "given")
    assert refold.refused(BadInputError, *asking).source == "tools[0]"


WRONG = [
    ("--system", "gone"),
    ("--tools", "gone"),
    ("--cache-breakpoints", "5"),
    ("--cache-breakpoints", "-1"),
]


def test_files_that_are_not_there_and_limits_beyond_the_apis_are_wrong_usage(told: Refold) -> None:
    for option, value in WRONG:
        error = told.refused(click.BadParameter, *ASKED, option, value, code=2)
        assert error.param is not None
        assert error.param.opts == [option]


def test_cache_breakpoints_are_set_where_they_are_asked_for(told: Refold) -> None:
    assert b"cache_control" not in told(*ASKED).raw
    assert told(*ASKED, "--cache-breakpoints", "2").raw.count(b'"cache_control":{"type":"ephemeral"}') == 2


def test_a_leaf_as_of_an_event_is_rendered_as_it_was(told: Refold) -> None:
    assert told(*ASKED, "--as-of", "2").raw == told(*ASKED, "--leaf", "a1").raw


def test_what_a_session_holds_is_shown_in_notes_and_not_obeyed(refold: Refold) -> None:
    wild = assistant(call("bash", "\x1b[2J|" * 3), model="m")
    refold("append", "s", stdin=line({"type": "message", "message": wild}))
    errors = refold("context", "s", "--format", "anthropic", "--full").errors
    assert "\x1b" not in errors
    assert errors.count("\n") == errors.count("refold: note: ") == 3


def test_a_damaged_context_is_shown_as_text_with_a_warning_and_refused_in_other_forms(told: Refold) -> None:
    with tables(told.store) as stored:
        for key, frame in stored.items("events"):
            stored.put("events", key, frame.replace(b'"user"', b'"uses"'))
    shown = told("context", SESSION, code=1)
    assert ("run 'refold verify'" in shown.errors, shown.out != "") == (True, True)
    for options in (["--json"], ["--format", "native"]):
        assert told("context", SESSION, *options, code=1).out == ""


def test_an_unrecorded_thinking_level_is_not_claimed(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "said.jsonl").write_bytes(claude_code.said("u1", None, "hello") + b"\n")
    refold("sync", "said.jsonl")
    assert "thinking" not in refold("context", claude_code.SESSION).lines[-1]
    assert refold("context", claude_code.SESSION, "--json").json["thinkingLevel"] is None


@pytest.mark.parametrize(("form", "place"), [("openai-responses", "input"), ("openai-chat", "messages")])
def test_context_prints_bodies_for_openai(told: Refold, form: str, place: str) -> None:
    body = told("context", SESSION, "--format", form, "--model", "m").json
    assert (body["model"], len(body[place]) > 0) == ("m", True)


def test_breakpoints_are_for_anthropic_alone(told: Refold) -> None:
    done = told("context", SESSION, "--format", "openai-chat", "--cache-breakpoints", "2", code=2)
    assert "--cache-breakpoints needs --format anthropic, not openai-chat" in done.errors
