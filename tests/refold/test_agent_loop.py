"""The agent loop of the documentation: it runs, it is short, and its types hold for who installs the wheel."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, Final

import pytest

import refold
from projections.context.parts import view_of_part
from tests.conftest import PROJECT
from tests.support.local_http import Exchange, Reply, answers
from tests.support.messages_api import MessagesApi, complete, says
from tests.support.openai_api import problems_of_responses
from tests.support.patience import PATIENCE

PAGES: Final = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
LOOPS, OPENAI_LOOPS = (
    [
        pytest.param(block, id=f"{page.name}:{number}")
        for page in PAGES
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
        if f"import {client}\n" in block
    ]
    for client in ("anthropic", "openai")
)
EXAMPLES: Final = [
    block
    for page in PAGES
    for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    if "sys.stdin" not in block  # a program that imports nothing of refold
]
MY_TOOLS: Final = """
from anthropic.types import ToolParam, ToolResultBlockParam, ToolUseBlock

TOOLS: list[ToolParam] = [{"name": "read", "input_schema": {"type": "object"}}]

def run(call: ToolUseBlock) -> ToolResultBlockParam:
    return {"type": "tool_result", "tool_use_id": call.id, "content": f"{call.input['path']}: " + "a line\\n" * 9000}
"""
MY_FUNCTIONS: Final = """
from openai.types.responses import FunctionToolParam, ResponseFunctionToolCall

TOOLS: list[FunctionToolParam] = [
    {"type": "function", "name": "read", "parameters": {"type": "object"}, "strict": False}
]

def run(call: ResponseFunctionToolCall) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": call.call_id, "content": f"{call.arguments}: " + "a line\\n" * 9000}
"""
MOST_LINES: Final = 15
CALLS: Final = 4
SUMMARY: Final = "Some tests were read."


def answer(exchange: Exchange) -> None:
    """Answer a summarizer with a summary, and the loop with calls of a tool until it has had some."""
    request = exchange.request.json
    if request.get("stream"):
        says(complete)(exchange)
        return
    number = sum(message["role"] == "assistant" for message in request["messages"])
    seen = json.dumps(request["messages"]).count("part_")
    is_over = "<summary>" in json.dumps(request["messages"]) or seen > CALLS
    blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": "hm", "signature": "seal"}]
    if is_over:
        blocks.append({"type": "text", "text": "None of them fails."})
    else:
        path = f"part_{number}.py"
        blocks.append({"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": path}})
    answers(
        {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-5",
            "content": blocks,
            "stop_reason": "end_turn" if is_over else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 60_000 * (number + 1), "output_tokens": 9},
        }
    )(exchange)


def answer_openai(exchange: Exchange) -> None:
    """Answer the loop of OpenAI's API as `answer` does, and its summarizer; refuse what the API would."""
    if exchange.request.path == "/chat/completions":
        choice = {"message": {"role": "assistant", "content": SUMMARY}, "finish_reason": "stop"}
        answers({"model": "gpt-5.2", "choices": [choice]})(exchange)
        return
    sent = exchange.request.json["input"]
    problems = problems_of_responses(exchange.request.body)
    if problems:
        exchange.answer(400, json.dumps({"error": {"message": "; ".join(problems)}}).encode())
        return
    number = sum(item.get("type") == "reasoning" for item in sent)
    is_over = "<summary>" in json.dumps(sent) or number > CALLS
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "read"}
    text = {"type": "output_text", "text": "None of them fails.", "annotations": []}
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    item |= {"arguments": json.dumps({"path": f"part_{number}.py"}), "status": "completed"}
    seal = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "seal"}
    tokens = {"input_tokens": 60_000 * (number + 1), "output_tokens": 9}
    answers(
        {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "gpt-5.2",
            "output": [seal, message if is_over else item],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                **tokens,
                "total_tokens": sum(tokens.values()),
                "input_tokens_details": {"cached_tokens": 50_000},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }
    )(exchange)


def test_the_documentation_has_a_loop_for_each_api() -> None:
    assert LOOPS
    assert OPENAI_LOOPS


@pytest.mark.parametrize("loop", LOOPS)
def test_the_loop_is_short(loop: str) -> None:
    assert sum(bool(line.strip()) for line in loop.splitlines()) <= MOST_LINES


def run_loop(loop: str, folder: Path, answer: Reply) -> subprocess.CompletedProcess[str]:
    """Run a loop in a folder, against a server that gives this answer to every request."""
    (folder / "my_tools.py").write_text(MY_TOOLS)
    (folder / "my_functions.py").write_text(MY_FUNCTIONS)
    client = "OPENAI" if "import openai" in loop else "ANTHROPIC"
    others = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
    with MessagesApi(answer) as server:
        environment = {
            **others,
            "PYTHONPATH": f"{PROJECT}{os.pathsep}{folder}",
            f"{client}_BASE_URL": server.url,
            f"{client}_API_KEY": "of-a-test",
        }
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", loop],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_the_loop_talks_calls_tools_and_compacts(loop: str, tmp_path: Path) -> None:
    done = run_loop(loop, tmp_path, answer)
    assert (done.stdout, done.stderr) == ("", "")
    with refold.open(tmp_path / "store", create=False) as store:
        (name,) = store
        session = store[name]
        context = session.context()
        last: Any = context.messages()[-1]
        assert last["content"][-1] == {"type": "text", "text": "None of them fails."}
        assert last["content"][0]["signature"] == "seal"
        (compaction,) = session.audit().compactions
        assert compaction.by.policy == "refold"
        assert context.parts[0].id == compaction.id


@pytest.mark.slow
@pytest.mark.parametrize("loop", OPENAI_LOOPS)
def test_the_loop_talks_to_openai_and_compacts(loop: str, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    done = run_loop(loop, tmp_path, answer_openai)
    assert (done.stdout, done.stderr) == ("", "")
    with refold.open(tmp_path / "store", create=False) as store:
        (name,) = store
        context = store[name].context()
        *_, seal, last = context.messages("openai-responses")
        assert last["content"] == [{"type": "output_text", "text": "None of them fails."}]
        assert seal["encrypted_content"] == "seal"
        (compaction,) = store[name].audit().compactions
        assert context.parts[0].id == compaction.id
        assert SUMMARY in view_of_part(context.parts[0]).text
        answered = [view_of_part(part) for part in context.parts if part.role == "assistant"]
        assert {(each.provider, each.model) for each in answered} == {("openai", "gpt-5.2")}
        assert answered[-1].usage.prompt % 60_000 == 0


def answer_without_streaming(exchange: Exchange) -> None:
    """Answer the loop as `answer` does, and a summarizer with a message in one piece, which it cannot read."""
    if exchange.request.json.get("stream"):
        answers(
            {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "All is well."}]}
        )(exchange)
    else:
        answer(exchange)


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_the_loop_prints_why_a_compaction_failed(loop: str, tmp_path: Path) -> None:
    done = run_loop(loop, tmp_path, answer_without_streaming)
    assert done.stderr == ""
    with refold.open(tmp_path / "store", create=False) as store:
        failed = [each.error for name in store for each in store[name].audit().failed_compactions]
    assert failed
    printed = done.stdout.splitlines()
    assert [error in line for error, line in zip(failed, printed, strict=True)] == [True] * len(failed)


@pytest.mark.long
def test_every_example_of_the_documentation_is_typed_for_who_installs_the_wheel(tmp_path: Path) -> None:
    wheels, place = tmp_path / "wheels", tmp_path / "venv"
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(wheels),
        str(PROJECT),
    ]
    subprocess.run(build, check=True)
    # The libraries are those of this environment: what is installed anew is refold.
    venv.create(place, system_site_packages=False, with_pip=True)
    python = place / "bin" / "python"
    (wheel,) = wheels.glob("refold-*.whl")
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel, "mypy", "openai>=3,<4"], check=True)
    (tmp_path / "my_tools.py").write_text(MY_TOOLS)
    (tmp_path / "my_functions.py").write_text(MY_FUNCTIONS)
    names = [f"example_{number}.py" for number in range(len(EXAMPLES))]
    for name, code in zip(names, EXAMPLES, strict=True):
        (tmp_path / name).write_text(code)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    checked = subprocess.run(
        [python, "-m", "mypy", "--strict", *names],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout.startswith("Success"), checked.stdout
    assert f" in {len(names)} source files" in checked.stdout
