"""Validators by the names of their APIs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import projections.requests
from eventstore.errors import NotFoundError
from projections.requests import VALIDATORS, Violation, validator_named
from tests.support import sentences

FILES = sorted(Path(projections.requests.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("name", VALIDATORS)
def test_a_validator_finds_what_is_no_request(name):
    assert validator_named(name)(b"no JSON") != []


def test_an_api_without_a_validator_is_an_error_that_names_those_there_are():
    with pytest.raises(NotFoundError) as refused:
        validator_named("carrier-pigeon")
    assert refused.value.name == "carrier-pigeon"
    assert sentences.names(refused.value.remedy, VALIDATORS) == ["anthropic"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name + "/" + file.name)
def test_no_validator_imports_a_renderer(file):
    imports = [
        node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
    ]
    assert [each.module for each in imports if "renderers" in (each.module or "")] == []


def test_a_violation_says_rule_place_and_problem():
    (found,) = validator_named("anthropic")({"model": "m", "max_tokens": 1, "messages": []})
    assert found == Violation(rule="messages", path="messages", problem=found.problem)
    assert sentences.numbers(found.problem) == [1, 100_000]
