"""Requests by the names of their APIs: what is rendered is checked, always."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from eventstore.errors import BadInputError, NotFoundError
from projections.requests import RENDERERS, VALIDATORS, request, validator_named
from projections.requests.anthropic.renderer import render
from tests.conftest import PROJECT
from tests.support.contexts import context_of
from tests.support.talk import assistant, call, user

TOOLS = b'[{"name":"bash","input_schema":{"type":"object"}}]'
PACKAGES = ("eventstore", "projections", "compaction", "cli")
FILES = sorted(file for package in PACKAGES for file in (PROJECT / package).rglob("*.py"))
RENDERER_FILES = sorted((PROJECT / "projections" / "requests").glob("*/renderer/*.py"))


def imports(file: Path) -> set[str]:
    """The modules that a file imports from anywhere in it, those included whose names it takes one by one."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{each.name}" for each in node.names}
    return found


def test_a_request_is_what_the_renderer_makes():
    context = context_of(user("a"), assistant(call("bash")))
    rendered = render(context)
    asked = request(context)
    assert (asked.body, asked.repairs, asked.violations) == (rendered.body, rendered.repairs, ())


def test_what_no_repair_can_mend_is_a_violation():
    asked = request(context_of())
    assert [(each.rule, each.path) for each in asked.violations] == [("messages", "messages")]
    assert list(asked.violations) == validator_named("anthropic")(asked.body)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"max_tokens": -1}, "max-tokens"),
        ({"system": " "}, "system"),
        ({"model": ""}, "model"),
        ({"tools": TOOLS[:-1] + b"," + TOOLS[1:]}, "tools"),
    ],
)
def test_what_is_asked_for_is_checked_too(options, rule):
    assert [each.rule for each in request(context_of(user("a")), **options).violations] == [rule]


def test_what_is_checked_is_all_that_is_sent():
    asked = request(
        context_of(user("a")), tools=TOOLS, forbids_tools=True, caches_messages=True, streams=True
    )
    assert asked.body.endswith(
        b'"tool_choice":{"type":"none"},"cache_control":{"type":"ephemeral"},"stream":true}'
    )
    assert list(asked.violations) == validator_named("anthropic")(asked.body) == []


def test_without_tools_there_is_nothing_to_forbid():
    for tools in (None, b"[]"):
        assert b"tool_choice" not in request(context_of(user("a")), tools=tools, forbids_tools=True).body


def test_tools_that_are_no_list_are_an_error():
    with pytest.raises(BadInputError) as refused:
        request(context_of(user("a")), tools=b"{")
    assert refused.value.source == "tools"


def test_an_api_without_a_renderer_is_an_error_that_names_those_there_are():
    with pytest.raises(NotFoundError) as refused:
        request(context_of(user("a")), "carrier-pigeon")
    assert (refused.value.what, refused.value.name) == ("renderer", "carrier-pigeon")
    assert "anthropic" in refused.value.remedy


def test_every_api_has_a_renderer_and_a_validator():
    assert set(RENDERERS) == set(VALIDATORS)


@pytest.mark.parametrize("api", RENDERERS)
def test_nothing_asks_a_renderer_without_having_its_request_checked(api):
    room = f"projections.requests.{api}.renderer"
    asking = [
        str(file.relative_to(PROJECT))
        for file in FILES
        if any(each == room or each.startswith(f"{room}.") for each in imports(file))
    ]
    assert [file for file in asking if not file.startswith(room.replace(".", "/"))] == [
        "projections/requests/__init__.py"
    ]


@pytest.mark.parametrize("file", RENDERER_FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_no_renderer_imports_a_validator(file):
    assert [each for each in imports(file) if "validator" in each or each == "projections.requests"] == []
