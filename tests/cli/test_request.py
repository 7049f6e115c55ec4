"""A body on stdout, its repairs on stderr, and nothing to send where the API would refuse it."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import click
import pytest

from eventstore.errors import BadInputError
from projections.requests import validator_named
from projections.requests.anthropic.renderer import render
from tests.cli.running import Refold
from tests.cli.tale import ENTRIES, SESSION
from tests.support.pi_files import line
from tests.support.talk import assistant, call, user

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
    assert validator_named("anthropic")(told(*ASKED, "--leaf", leaf).raw) == []


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


def test_model_and_limit_can_be_given(told: Refold) -> None:
    body = told(*ASKED, "--leaf", "u1", "--model", "claude-x", "--max-tokens", "100").json
    assert (body["model"], body["max_tokens"]) == ("claude-x", 100)


def test_the_limit_is_by_default_the_renderers(told: Refold) -> None:
    default = inspect.signature(render).parameters["max_tokens"].default
    assert told(*ASKED).json["max_tokens"] == default


def test_system_prompt_and_tools_come_from_files(told: Refold, tmp_path: Path) -> None:
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    (tmp_path / "system.md").write_text("Be brief. é\n", "utf-8")
    (tmp_path / "tools.json").write_text(json.dumps(tools), "utf-8")
    body = told(*ASKED, "--system", "system.md", "--tools", "tools.json").json
    assert (body["system"], body["tools"]) == ("Be brief. é\n", tools)


def test_a_system_prompt_can_come_from_standard_input(told: Refold) -> None:
    assert told(*ASKED, "--system", "-", stdin="Be brief.").json["system"] == "Be brief."


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
    assert refold(*asking, code=1).errors.count("\n") == 1
    assert [each["path"] for each in refold(*asking, "--json", code=1).json["violations"]] == ["tools[0]"]


WRONG = [
    ("--system", "gone"),
    ("--tools", "gone"),
    ("--max-tokens", "0"),
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
