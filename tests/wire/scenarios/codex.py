"""Tell Codex what to do, by its command line and its app server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from tests.wire.box import PROJECT, URL, Box, Program, Scenario, Talk
from tests.wire.model import Rule
from tests.wire.replies import Call, Patch, Reply, Sealed, Thinking, refuse, say
from tests.wire.scenarios.common import (
    FILES,
    MEMORY,
    PARTS,
    RESUMING,
    WINDOW,
    before_and_after_compactions,
    ends_with,
    parts,
    picture,
    read_both,
    read_parts,
    summaries,
)

OPTIONS: Final = ("--skip-git-repo-check", "--json")
_COMMON: Final = """approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
model = "gpt-5.2"
model_reasoning_effort = "medium"
model_reasoning_summary = "auto"
check_for_update_on_startup = false
"""
_TABLES: Final = f"""[analytics]
enabled = false
[otel]
exporter = "none"
[features]
plugins = false
apps = false
[projects."{PROJECT}"]
trust_level = "trusted"
"""
_PROVIDER: Final = f"""[model_providers.stub]
name = "stub"
base_url = "{URL}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 2
stream_max_retries = 2
supports_websockets = false
"""
PATCH: Final = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n def a():\n-    return 1\n+    return 10\n*** End Patch\n"
)
SUMMARY: Final = "Progress: files were read (summary {})."
SUMMARIES: Final = summaries(ends_with("CONTEXT CHECKPOINT COMPACTION"), SUMMARY)
REMOTE: Final = Rule(
    "compaction", ends_with("compaction_trigger"), [say(Sealed(f"history {n}")) for n in range(1, 9)]
)


OF_OPENAI: Final = {"OPENAI_API_KEY": "sk-x", "CODEX_API_KEY": "sk-x"}


def configured(
    *, limit: int = 0, is_openai: bool = False, window: int = 200_000, plugins: bool = False
) -> dict[str, str]:
    """Return the configuration: compaction at `limit` tokens, and OpenAI's or a provider of its own."""
    common = f"{_COMMON}model_context_window = {window}\n"
    compaction = f"model_auto_compact_token_limit = {limit}\n" if limit else ""
    provider = f'openai_base_url = "{URL}/v1"\n' if is_openai else 'model_provider = "stub"\n'
    tables = _TABLES.replace("plugins = false", "plugins = true") if plugins else _TABLES
    text = common + compaction + provider + tables + ("" if is_openai else _PROVIDER)
    return {"home/.codex/config.toml": text}


def main_rule(*replies: Reply) -> Rule:
    return Rule("main", lambda request: bool(request.tools), replies)


def shell(command: str) -> Call:
    return Call("exec_command", {"cmd": command})


def read(name: str) -> Call:
    return shell(f"cat {name}")


def ask(box: Box, text: str) -> None:
    box.run("exec", *OPTIONS, text)


def go_on(box: Box, text: str) -> None:
    box.run("exec", "resume", *OPTIONS, "--last", text)


class AppServer:
    """The app server: one thread, its turns, and what is done to them."""

    def __init__(self, talk: Talk) -> None:
        self._talk, self._calls = talk, 0
        info = {"name": "wire", "title": "wire", "version": "1"}
        self._call("initialize", clientInfo=info, capabilities={"experimentalApi": True})
        talk.send({"method": "initialized"})
        self.thread = _id_after('"thread":', self._call("thread/start", cwd=str(PROJECT)))

    def _call(self, method: str, **parameters: object) -> str:
        self._calls += 1
        self._talk.send({"id": self._calls, "method": method, "params": parameters})
        return self._talk.wait(f'"id":{self._calls},')

    def turn(self, text: str) -> str:
        """Send a prompt, wait for the end of its turn, and return the turn's id."""
        given = [{"type": "text", "text": text}]
        begun = self._call("turn/start", threadId=self.thread, input=given)
        self._talk.wait('"turn/completed"')
        return _id_after('"turn":', begun)

    def compact(self) -> None:
        self._call("thread/compact/start", threadId=self.thread)
        self._talk.wait('"turn/completed"')

    def revert(self, turn: str) -> None:
        """Take back a turn and all after it."""
        self._call("thread/revert", threadId=self.thread, beforeTurnId=turn)


def _id_after(field: str, line: str) -> str:
    found = re.search(field + r'\{"id":"([^"]+)"', line)
    return found[1] if found else ""


def tools(box: Box) -> None:
    ask(box, "Read a.py and b.py and make a return 10.")
    go_on(box, "Look at the picture and the log.")
    go_on(box, "What did you change?")


def automatic(box: Box) -> None:
    ask(box, "Read part1.txt.")
    for number in PARTS[1:]:
        go_on(box, f"Read part{number}.txt.")
    go_on(box, "What was it about?")


def manual(box: Box) -> None:
    with box.talk("app-server") as talk:
        server = AppServer(talk)
        server.turn("Read a.py.")
        server.turn("Read b.py.")
        server.compact()
        server.turn("Read part1.txt.")
        server.compact()
        server.compact()
        server.turn("Go on.")
    go_on(box, "And on.")


def revert(box: Box) -> None:
    with box.talk("app-server") as talk:
        server = AppServer(talk)
        server.turn("Read a.py.")
        server.revert(server.turn("Read b.py."))
        server.turn("Other way: list.")
        server.turn("And now?")
    box.run("exec", "fork", *OPTIONS, server.thread, "Forked: say so.")
    go_on(box, "And on.")


def errors(box: Box) -> None:
    ask(box, "Read a.py.")
    go_on(box, "Slow.")
    go_on(box, "Too long now.")
    go_on(box, "After it.")


READ_PARTS: Final = read_parts(read)
SCENARIOS: Final = (
    Scenario(
        "tools",
        tools,
        [
            main_rule(
                say(Thinking("Look at both."), "Reading both.", read("a.py"), read("b.py")),
                say(shell("cat nothere.txt"), Patch("apply_patch", PATCH)),
                say(Thinking("Done."), "a returns 10."),
                say(
                    "Picture.", Call("view_image", {"path": "/mnt/project/picture.png"}), shell("seq 1 9000")
                ),
                say("A red square."),
                say("I changed a()."),
            )
        ],
        configured() | {"project/picture.png": picture()},
        is_quick=True,
    ),
    Scenario(
        "automatic-compaction",
        automatic,
        [SUMMARIES, main_rule(*READ_PARTS, say("Numbers."))],
        configured(limit=15_000) | parts(200),
    ),
    Scenario(
        "remote-compaction",
        automatic,
        [REMOTE, SUMMARIES, main_rule(*READ_PARTS, say("Numbers."))],
        configured(limit=15_000, is_openai=True) | parts(200),
        OF_OPENAI,
    ),
    Scenario(
        "manual-compaction",
        manual,
        [
            SUMMARIES,
            main_rule(*before_and_after_compactions(read)),
        ],
        configured() | parts(100),
    ),
    Scenario(
        "revert",
        revert,
        [
            main_rule(
                *read_both(read),
                say(shell("ls")),
                say("Listed."),
                say("Now this."),
                say("Forked."),
                say("On."),
            )
        ],
        configured(),
    ),
    Scenario(
        "errors",
        errors,
        [
            Rule("overloaded", ends_with("Read a.py"), [refuse(503, "server_error", "overloaded")]),
            Rule(
                "too long",
                ends_with("Too long now"),
                [
                    refuse(
                        400, "context_length_exceeded", "Your input exceeds the context window of this model."
                    )
                ],
            ),
            SUMMARIES,
            main_rule(
                say(read("a.py")),
                say("a returns 1."),
                say("cut in the middle of the stream", is_cut=True),
                say("whole"),
                say("After."),
            ),
        ],
        configured(),
    ),
)


def resumed(path: Path) -> Scenario:
    """Return the scenario that resumes a thread from its file, put where Codex finds it."""
    with path.open("rb") as lines:
        thread = json.loads(next(lines))["payload"]["id"]
    placed = f"home/.codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{thread}.jsonl"
    return Scenario(
        path.stem,
        lambda box: ask_again(box, thread),
        [SUMMARIES, main_rule(say("Resumed."))],
        configured(is_openai=True, window=WINDOW) | {placed: path.read_bytes()},
        OF_OPENAI,
    )


def ask_again(box: Box, thread: str) -> None:
    box.run("exec", "resume", *OPTIONS, thread, RESUMING)


def program(version: str) -> Program:  # noqa: ARG001  every release does the same
    return Program(
        environment={"CODEX_HOME": "/mnt/home/.codex", "STUB_KEY": "x"},
        files={**FILES, "project/AGENTS.md": MEMORY},
        sessions=["home/.codex/sessions/**/*", "home/.codex/archived_sessions/**/*"],
        scenarios=SCENARIOS,
    )
