from __future__ import annotations

import json

import click
import pytest

from tests.cli.running import Refold
from tests.cli.tale import ENTRIES, SESSION, tale
from tests.support import reference_pi
from tests.support.pi_files import line

RECORDS = [json.loads(record) for record in tale().splitlines()[1:]]

TRANSCRIPT = """\
[User]: Earlier parts of this conversation were replaced by this summary:

<summary>
The parser is fixed.
</summary>

[User]: Now the tests.

[Assistant]: They pass.

[Assistant tool calls]: read(path="tests/test_parser.py")

[User]: Another branch of this conversation was left; this summarizes it:

<summary>
Expressions are worse.
</summary>

[User]: Thanks!

[Assistant]: You are welcome.
"""


@pytest.mark.parametrize("leaf", ENTRIES)
def test_the_pi_format_is_what_pi_builds_at_every_leaf(told: Refold, leaf: str) -> None:
    given = told("context", SESSION, "--leaf", leaf, "--format", "pi").json
    assert given == reference_pi.context(RECORDS, leaf)


def test_the_pi_format_holds_messages_thinking_level_and_model(told: Refold) -> None:
    given = told("context", SESSION, "--format", "pi").json
    assert list(given) == ["messages", "thinkingLevel", "model"]
    assert given["thinkingLevel"] == "off"
    assert given["model"] == {"provider": "p", "modelId": "m"}


def test_the_context_at_the_root_is_empty(told: Refold) -> None:
    given = told("context", SESSION, "--leaf", "root", "--format", "pi").json
    assert given == {"messages": [], "thinkingLevel": "off", "model": None}


def test_a_transcript_is_what_a_summarizer_is_given(told: Refold) -> None:
    assert told("context", SESSION, "--format", "transcript").out == TRANSCRIPT


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


def test_jsons_messages_are_those_of_the_pi_format(told: Refold) -> None:
    messages = told("context", SESSION, "--format", "pi").json["messages"]
    assert [each["message"] for each in told("context", SESSION, "--json").json["messages"]] == messages


def test_json_tells_where_it_stands_and_how_it_counted(told: Refold) -> None:
    found = told("context", SESSION, "--leaf", "#8", "--as-of", "9", "--counter", "bytes/4", "--json").json
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
    }


def test_json_goes_before_a_format(told: Refold) -> None:
    both = told("context", SESSION, "--json", "--format", "transcript").raw
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
        ("--max-tokens", "8192"),
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
