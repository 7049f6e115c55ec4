from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.cli.running import PROJECT, Refold
from tests.cli.tale import SESSION

mcp = pytest.importorskip("mcp", reason="the extra refold[mcp] is not installed")


async def _asked(store: Path, tool: str, **arguments: str) -> tuple[list[str], str, bool]:
    """Return the tools that do more than read, an answer, and if it is an error."""
    from mcp.client.stdio import stdio_client  # noqa: PLC0415  it may not be here

    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-c", "from cli.main import main; main()", "--store", str(store), "mcp"],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    async with stdio_client(server) as streams, mcp.ClientSession(*streams) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        answer = await session.call_tool(tool, arguments)
        writing = [each.name for each in tools if not each.annotations.read_only_hint]
        return writing, answer.content[0].text, answer.is_error


def test_a_client_asks_for_an_event(told: Refold) -> None:
    writing, answer, is_error = asyncio.run(_asked(told.store, "show", event="u1", session=SESSION))
    assert (writing, is_error) == ([], False)
    assert answer.endswith("#1 user:\nFix the parser.")


def test_every_tool_answers(told: Refold) -> None:
    for tool, arguments in {"recall": {"query": "parser"}, "rules": {}, "lost": {}}.items():
        _, answer, _ = asyncio.run(_asked(told.store, tool, session=SESSION, **arguments))
        assert answer.startswith("Quotations from the history of session")


def test_a_missing_event_is_an_error(told: Refold) -> None:
    _, answer, is_error = asyncio.run(_asked(told.store, "show", event="#999", session=SESSION))
    assert is_error
    assert "#999" in answer
