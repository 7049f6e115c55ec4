"""Tell opencode what to do, by its command line and its HTTP server."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from tests.wire.box import PROJECT, ROOT, URL, Box, Program, Scenario
from tests.wire.model import Request, Rule
from tests.wire.replies import OVERLOADED, TOO_LONG, Call, Reply, Thinking, say
from tests.wire.scenarios.common import (
    FILES,
    MEMORY,
    PARTS,
    RESUMING,
    WINDOW,
    ends_with,
    offers,
    parts,
    picture,
    read_both,
    read_parts,
    summaries,
    task_of_agent,
)

SERVER: Final = "http://127.0.0.1:8901"
CONFIG: Final = "home/config/opencode/opencode.json"
_NPM: Final = {
    "messages": "@ai-sdk/anthropic",
    "chat": "@ai-sdk/openai-compatible",
    "responses": "@ai-sdk/openai",
}
SUMMARY: Final = "## Objective\n- Read the files (summary {})\n\n## Work State\n### Completed\n- read\n"


def _asks_for_title(request: Request) -> bool:
    return not request.tools and "title generator" in json.dumps(request.system)


TITLES: Final = Rule("title", _asks_for_title, [say("A title") for _ in range(9)])


def summaries_as(text: str) -> Rule:
    """Return a rule that answers requests for a summary."""
    return summaries(lambda request: not request.tools and not _asks_for_title(request), text)


SUMMARIES: Final = summaries_as(SUMMARY)


def main_rule(*replies: Reply) -> Rule:
    return Rule("main", offers("bash"), replies)


def configured(
    api: str = "messages",
    *,
    context: int = 200_000,
    model: tuple[str, str] = ("stub", "stub-1"),
    **more: object,
) -> dict[str, str]:
    """Return the configuration: models of a provider whose requests have the shape of `api`."""
    provider, name = model
    fields = {
        "status": "active",
        "reasoning": True,
        "tool_call": True,
        "attachment": True,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "limit": {"context": context, "output": 4000},
    }
    stub = {
        "npm": _NPM[api],
        "name": "Stub",
        "options": {"baseURL": f"{URL}/v1", "apiKey": "x"},
        "models": {each: {"name": each, **fields} for each in (name, "stub-2")},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": f"{provider}/{name}",
        "small_model": f"{provider}/{name}",
        "permission": "allow",
        "snapshot": False,
        "provider": {provider: stub},
        **more,
    }
    return {CONFIG: json.dumps(config)}


def read(name: str) -> Call:
    return Call("read", {"filePath": f"/mnt/project/{name}"})


def shell(command: str) -> Call:
    return Call("bash", {"command": command, "description": "Run"})


def edit(name: str, old: str, new: str) -> Call:
    return Call("edit", {"filePath": f"/mnt/project/{name}", "oldString": old, "newString": new})


def ask(box: Box, text: str, *more: str) -> None:
    box.run("run", "--format", "json", *more, text)


class Server:
    """opencode's HTTP server, and one session of it."""

    def __init__(self) -> None:
        for _ in range(100):
            with suppress(URLError, TimeoutError):
                self._send("/global/health", timeout=1)
                break
            time.sleep(0.2)
        self.session = self.new()

    def new(self) -> str:
        return str(self._send("/session", {"title": "made"})["id"])

    def _send(self, path: str, body: object = None, timeout: float = 60) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = HttpRequest(SERVER + path, data, {"content-type": "application/json"})  # noqa: S310  loopback
        with urlopen(request, timeout=timeout) as response:  # noqa: S310
            return json.loads(response.read() or b"null")

    def ask(self, text: str, session: str = "") -> None:
        path = f"/session/{session or self.session}/message"
        self._send(path, {"parts": [{"type": "text", "text": text}]})

    def compact(self) -> None:
        body = {"providerID": "stub", "modelID": "stub-1", "auto": False}
        self._send(f"/session/{self.session}/summarize", body)

    def revert(self, prompt: int) -> None:
        """Take back a prompt, by its number from 0, and all after it."""
        messages = self._send(f"/session/{self.session}/message")
        prompts = [each["info"]["id"] for each in messages if each["info"]["role"] == "user"]
        self._send(f"/session/{self.session}/revert", {"messageID": prompts[prompt]})

    def fork(self) -> str:
        return str(self._send(f"/session/{self.session}/fork", {})["id"])


def tools(box: Box) -> None:
    commit(box)
    ask(box, "Read a.py and b.py and make a return 10.")
    ask(box, "Look at the picture and the log.", "-c")
    ask(box, "What did you change?", "-c")


def automatic(box: Box) -> None:
    commit(box)
    ask(box, "Read part1.txt.")
    for number in PARTS[1:]:
        ask(box, f"Read part{number}.txt.", "-c")
    ask(box, "What was it about?", "-c")


def manual(box: Box) -> None:
    commit(box)
    with box.talk("serve", "--port", SERVER.rpartition(":")[2]):
        server = Server()
        for text in ("Read a.py.", "Read b.py.", "Read part1.txt."):
            server.ask(text)
        server.compact()
        server.ask("Edit a.py.")
        server.compact()
        server.compact()
        server.ask("Go on.")
    ask(box, "And on.", "-c")


def revert(box: Box) -> None:
    commit(box)
    with box.talk("serve", "--port", SERVER.rpartition(":")[2]):
        server = Server()
        server.ask("Read a.py.")
        server.ask("Read b.py.")
        server.revert(1)
        server.ask("Other way: list.")
        server.ask("Forked: say so.", server.fork())
        server.ask("Back on the first.")


def agents(box: Box) -> None:
    commit(box)
    ask(box, "Ask an agent about a.py.")
    ask(box, "Sum up.", "-c")


def errors(box: Box) -> None:
    commit(box)
    ask(box, "Read a.py.")
    ask(box, "Slow.", "-c")
    ask(box, "Too long now.", "-c")
    ask(box, "After it.", "-c", "--model", "stub/stub-2")


def commit(box: Box) -> None:
    """Make the project a repository, which opencode looks for."""
    words = ("-c", "user.name=dev", "-c", "user.email=dev@example.invalid")
    for command in (("init", "-q"), ("add", "-A"), (*words, "commit", "-qm", "first")):
        subprocess.run(["git", *command], cwd=PROJECT, env=box.environment, check=True)


TOOLS: Final = main_rule(
    say(Thinking("Look at both."), "Reading both.", read("a.py"), read("b.py")),
    say(shell("cat nothere.txt"), edit("a.py", "return 1", "return 10")),
    say(Thinking("Done."), "a returns 10."),
    say("Picture.", read("picture.png"), shell("seq 1 9000"), read("nothere.py")),
    say("A red square."),
    say("I changed a()."),
)
READ_PARTS: Final = read_parts(read)
SCENARIOS: Final = (
    *(
        Scenario(
            name,
            tools,
            [TITLES, SUMMARIES, TOOLS],
            configured(api) | {"project/picture.png": picture()},
            is_quick=name == "tools",
        )
        for name, api in (("tools", "messages"), ("tools-chat", "chat"), ("tools-responses", "responses"))
    ),
    Scenario(
        "automatic-compaction",
        automatic,
        [TITLES, SUMMARIES, main_rule(*READ_PARTS, *(say(f"Numbers {n}.") for n in range(4)))],
        configured(context=30_000, compaction={"auto": True, "prune": True}) | parts(200),
        factor=1.5,
    ),
    Scenario(
        "manual-compaction",
        manual,
        [
            TITLES,
            SUMMARIES,
            main_rule(
                *read_both(read),
                say(read("part1.txt")),
                say("Many lines."),
                say(edit("a.py", "return 1", "return 5")),
                say("Edited."),
                say("Went on."),
                say("On."),
            ),
        ],
        configured() | parts(100),
    ),
    Scenario(
        "revert",
        revert,
        [
            TITLES,
            SUMMARIES,
            main_rule(
                *read_both(read),
                say(shell("ls")),
                say("Listed."),
                say("Forked."),
                say("Back."),
            ),
        ],
        configured(),
    ),
    Scenario(
        "subagents",
        agents,
        [
            TITLES,
            Rule("agent begins", ends_with("AGENT-TASK"), [say("Reading.", read("a.py"))]),
            Rule("agent", task_of_agent, [say("The agent says: 1.")]),
            SUMMARIES,
            main_rule(
                say(
                    Call(
                        "task",
                        {
                            "description": "Look at a.py",
                            "prompt": "AGENT-TASK Read a.py",
                            "subagent_type": "general",
                        },
                    )
                ),
                say("The agent said 1."),
                say("In sum: fine."),
            ),
        ],
        configured(),
    ),
    Scenario(
        "errors",
        errors,
        [
            TITLES,
            Rule("overloaded", ends_with("Read a.py", "bash"), [OVERLOADED]),
            Rule("too long", ends_with("Too long now", "bash"), [TOO_LONG]),
            SUMMARIES,
            main_rule(
                say(read("a.py")),
                say("a returns 1."),
                say("More text that stops", stop="max_tokens"),
                say("After the compaction."),
                say("After."),
            ),
        ],
        configured(),
    ),
)


def resumed(path: Path) -> Scenario:
    """Return the scenario that imports an export, and resumes its session with the model that it used last."""
    exported = json.loads(path.read_bytes())
    asked = [each["info"]["model"] for each in exported["messages"] if each["info"].get("model")]
    model = (asked[-1]["providerID"], asked[-1]["modelID"]) if asked else ("stub", "stub-1")

    def run(box: Box) -> None:
        commit(box)
        box.run("import", str(ROOT / "export.json"))
        ask(box, RESUMING, "--session", exported["info"]["id"])

    apis = {"anthropic": "messages", "openai": "responses", "openai-codex": "responses"}
    api = apis.get(model[0], "chat")
    return Scenario(
        path.stem,
        run,
        [TITLES, SUMMARIES, main_rule(say("Resumed."))],
        configured(api, context=WINDOW, model=model) | {"export.json": path.read_bytes()},
    )


def program(version: str) -> Program:  # noqa: ARG001  every release does the same
    return Program(
        environment={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_SHARE": "1",
            "XDG_DATA_HOME": "/mnt/home/data",
            "XDG_CONFIG_HOME": "/mnt/home/config",
            "XDG_STATE_HOME": "/mnt/home/state",
            "XDG_CACHE_HOME": "/mnt/home/cache",
        },
        files={**FILES, "project/AGENTS.md": MEMORY},
        sessions=["home/data/opencode/*.db"],
        scenarios=SCENARIOS,
    )
