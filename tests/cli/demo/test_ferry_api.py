from __future__ import annotations

import ast

from cli.demo.ferry_api import RESOURCES, openapi, routes


def test_the_routes_are_a_module_with_four_handlers_for_each_resource() -> None:
    handlers = [node.name for node in ast.parse(routes()).body if isinstance(node, ast.AsyncFunctionDef)]
    assert len(handlers) == len(set(handlers)) == 4 * len(RESOURCES) == 52


def test_the_description_has_every_operation_of_the_routes() -> None:
    methods = [line.strip() for line in openapi().splitlines()]
    assert [methods.count(method) for method in ("get:", "post:", "delete:")] == [26, 13, 13]
    for each in RESOURCES:
        assert f"  /v1/{each.many}:\n" in openapi()


def test_every_operation_shares_the_default_response() -> None:
    assert openapi().count("default: {$ref: '#/components/responses/Problem'}") == 52
