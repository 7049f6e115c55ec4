"""Tell pi what to do, by its command line and its RPC mode."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.wire.box import PROJECT, ROOT, URL, Box, Program, Scenario, Talk
from tests.wire.model import Rule
from tests.wire.replies import OVERLOADED, TOO_LONG, Call, Reply, Thinking, say
from tests.wire.scenarios.common import (
    FILES,
    MEMORY,
    PARTS,
    RESUMING,
    WINDOW,
    before_and_after_compactions,
    ends_with,
    offers,
    offers_none,
    parts,
    picture,
    read_both,
    read_parts,
    summaries,
)

AGENT: Final = "home/.pi/agent"
EXTENSION: Final = """
export default function (pi: any) {
  pi.registerCommand("goto", { description: "go to a prompt", handler: async (args: string, ctx: any) => {
    const [number, summarize] = args.trim().split(" ");
    const entries = ctx.sessionManager.getBranch();
    const prompts = entries.filter((e: any) => e.type === "message" && e.message.role === "user");
    await ctx.navigateTree(prompts[Number(number)].id, { summarize: summarize === "yes" });
  } });
  pi.registerCommand("note", { description: "send a note", handler: async (args: string) => {
    pi.sendMessage({ customType: "note", content: "NOTE: " + args, display: true }, { triggerTurn: false });
  } });
}
"""
"""RPC cannot navigate the tree; this extension can."""
MODEL: Final = ("--model", "stub/stub-1:high")
SUMMARY: Final = "## Goal\nRead the files and edit them.\n\n## Progress\n### Done\n- [x] read (summary {})\n"
SUMMARIES: Final = summaries(offers_none, SUMMARY)


def main_rule(*replies: Reply) -> Rule:
    return Rule("main", offers("read", "_read"), replies)


class Rpc:
    """The RPC mode of pi: prompts, and waiting for their end."""

    def __init__(self, talk: Talk, end: str) -> None:
        self.talk, self._end = talk, end

    def ask(self, text: str) -> None:
        """Send a prompt; wait until the agent is idle."""
        self.begin(text)
        self.wait_for_end()

    def begin(self, text: str) -> None:
        self.talk.send({"type": "prompt", "message": text})

    def wait_for_end(self) -> None:
        self.talk.wait(self._end)

    def do(self, type: str, **fields: Any) -> None:
        """Send a command; wait for its response."""
        self.talk.send({"type": type, **fields})
        self.talk.wait(f'"command":"{type}"')

    def command(self, text: str, seconds: float = 1.0) -> None:
        """Send a command of the extension, which has no end to wait for."""
        self.begin(text)
        time.sleep(seconds)


def models(api: str, window: int, model: tuple[str, str]) -> str:
    """Return models of a provider, one of this name, whose requests have the shape of `api`."""
    base = URL if api == "anthropic-messages" else f"{URL}/v1"
    provider, first = model
    fields = {
        "reasoning": True,
        "input": ["text", "image"],
        "contextWindow": window,
        "maxTokens": 8000,
        "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25},
    }
    listed = [{"id": name, "name": name, **fields} for name in (first, "stub-2")]
    stub = {"baseUrl": base, "apiKey": "stub", "api": api, "models": listed}
    return json.dumps({"providers": {provider: stub}})


def configured(
    *,
    api: str = "anthropic-messages",
    window: int = 200_000,
    keep: int = 20_000,
    model: tuple[str, str] = ("stub", "stub-1"),
) -> dict[str, str]:
    compaction = {"enabled": True, "reserveTokens": 4000, "keepRecentTokens": keep}
    settings = {
        "defaultProvider": model[0],
        "defaultModel": model[1],
        "quietStartup": True,
        "compaction": compaction,
        "retry": {"enabled": True, "maxRetries": 2, "baseDelayMs": 200},
    }
    return {
        f"{AGENT}/models.json": models(api, window, model),
        f"{AGENT}/settings.json": json.dumps(settings),
    }


class Tools:
    """The tools of pi, and of oh-my-pi, whose names begin with an underscore."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def read(self, path: str) -> Call:
        return Call(f"{self._prefix}read", {"path": path})

    def shell(self, command: str) -> Call:
        return Call(f"{self._prefix}bash", {"command": command})

    def write(self, path: str, content: str) -> Call:
        return Call(f"{self._prefix}write", {"path": path, "content": content})

    def use_all(self, change: Call) -> Rule:
        """Return replies that use all of them, in parallel and in vain; `change` makes a() return 10."""
        return main_rule(
            say(Thinking("Look at both."), "Reading both.", self.read("a.py"), self.read("b.py")),
            say(self.shell("cat nothere.txt"), change),
            say(Thinking("Done."), "a returns 10."),
            say("The picture.", self.read("picture.png"), self.shell("seq 1 9000"), self.read("nothere.py")),
            say(self.write("c.py", "def c():\n    return 3\n")),
            say("A red square."),
            say("I changed a()."),
        )

    def in_a_tree(self) -> list[Reply]:
        """Return replies to a person who goes back once, and then to the beginning."""
        return [
            say(Thinking("One."), self.read("a.py")),
            *read_both(self.read)[1:],
            say(Thinking("Two."), self.shell("ls")),
            say("Listed."),
            say("Now this."),
        ]

    def interrupted(self) -> list[Reply]:
        """Return replies while a person steers and aborts."""
        return [
            say("a returns 1."),
            say("Sleeping.", self.shell("sleep 2; echo slept")),
            say("Saw it."),
            say("half an answer that is cut in the middle of it", stall=4),
            say("After."),
        ]


TOOLS: Final = Tools()
EDIT: Final = Call("edit", {"path": "a.py", "edits": [{"oldText": "return 1", "newText": "return 10"}]})


def use_tools(box: Box, options: Sequence[str]) -> None:
    box.run("-p", *options, "Read a.py and b.py and make a return 10.")
    box.run("-p", "-c", *options, "Look at the picture and the log.")
    box.run("-p", "-c", *options, "What did you change?")


def compact_by_hand(box: Box, options: Sequence[str], rpc: Callable[[Box], Any]) -> None:
    with rpc(box) as pi:
        pi.ask("Read a.py.")
        pi.ask("Read b.py.")
        pi.do("compact")
        pi.ask("Read part1.txt.")
        pi.do("compact", customInstructions="keep names")
        pi.do("compact")
        pi.ask("Go on.")
    box.run("-p", "-c", *options, "And on.")


def steer_and_abort(pi: Any) -> None:
    pi.begin("Slow one.")
    time.sleep(1.2)
    pi.talk.send({"type": "steer", "message": "typed while you work"})
    pi.wait_for_end()
    pi.begin("Abort this.")
    time.sleep(0.9)
    pi.do("abort")
    time.sleep(0.5)
    pi.ask("After the abort.")


def scenarios(rpc: Callable[[Box], Any]) -> Sequence[Scenario]:
    """Return the scenarios; `rpc` starts the RPC mode."""

    def automatic(box: Box) -> None:
        with rpc(box) as pi:
            for number in PARTS:
                pi.ask(f"Read part{number}.txt.")
        box.run("-p", "-c", *MODEL, "What was it about?")

    def tree(box: Box) -> None:
        with rpc(box) as pi:
            pi.ask("Read a.py.")
            pi.ask("Read b.py.")
            pi.command("/goto 1 yes", 1.5)
            pi.ask("Other way: list.")
            pi.command("/note be careful", 0.5)
            pi.do("bash", command="echo typed by the person")
            pi.do("bash", command="echo hidden", excludeFromContext=True)
            pi.ask("And now?")
            pi.command("/goto 0 no")
            pi.ask("From the start.")
            pi.do("set_model", provider="stub", modelId="stub-2")
            pi.do("set_thinking_level", level="low")
            pi.ask("Other model.")

    def errors(box: Box) -> None:
        with rpc(box) as pi:
            pi.ask("Read a.py.")
            steer_and_abort(pi)
            pi.ask("Long answer.")
            pi.ask("Too long now.")
            time.sleep(1.5)
            pi.ask("After it.")
        box.run("-p", "-c", *MODEL, "And on.")

    return (
        *(
            Scenario(
                name,
                partial(use_tools, options=MODEL),
                [TOOLS.use_all(EDIT)],
                configured(api=api) | {"project/picture.png": picture()},
                is_quick=name == "tools",
            )
            for name, api in (
                ("tools", "anthropic-messages"),
                ("tools-chat", "openai-completions"),
                ("tools-responses", "openai-responses"),
            )
        ),
        Scenario(
            "automatic-compaction",
            automatic,
            [SUMMARIES, main_rule(*read_parts(TOOLS.read), say("Numbers."))],
            configured(window=9_000, keep=1_500) | parts(150),
        ),
        Scenario(
            "manual-compaction",
            partial(compact_by_hand, options=MODEL, rpc=rpc),
            [SUMMARIES, main_rule(*before_and_after_compactions(TOOLS.read))],
            configured(keep=300) | parts(150),
        ),
        Scenario(
            "tree",
            tree,
            [
                SUMMARIES,
                main_rule(
                    *TOOLS.in_a_tree(), say(Thinking("Three."), "Again."), say("From the second model.")
                ),
            ],
            configured(),
        ),
        Scenario(
            "errors",
            errors,
            [
                Rule("overloaded", ends_with("Read a.py", "read"), [OVERLOADED]),
                Rule("too long", ends_with("Too long now", "read"), [TOO_LONG]),
                SUMMARIES,
                main_rule(
                    say(TOOLS.read("a.py")),
                    *TOOLS.interrupted(),
                    say("A long ans", stop="max_tokens"),
                    say("After the compaction."),
                ),
            ],
            configured(keep=300),
        ),
    )


def model_in(path: Path) -> tuple[str, str, str]:
    """Return the provider and the model that a session used last, and the API of its answers.

    Only models whose API the stub serves count: Google's providers need a login. Without one, it is the stub's.
    """
    records = [*map(json.loads, path.read_text("utf-8").splitlines())]
    answers = [each["message"] for each in records if each.get("message", {}).get("role") == "assistant"]
    made = next((each for each in reversed(answers) if each["api"] in _SERVED), {"api": _SERVED[0]})
    return made.get("provider") or "stub", made.get("model") or "stub-1", made["api"]


_SERVED: Final = ("anthropic-messages", "openai-responses", "openai-codex-responses", "openai-completions")


def resumed(path: Path) -> Scenario:
    """Return the scenario that resumes a session from its file, with the model that it used last."""
    provider, model, api = model_in(path)
    return Scenario(
        path.stem,
        lambda box: box.run(
            *("-p", "--model", f"{provider}/{model}", "--session", str(ROOT / "session.jsonl"), RESUMING)
        ),
        [SUMMARIES, main_rule(say("Resumed."))],
        configured(api=api, window=WINDOW, model=(provider, model)) | {"session.jsonl": moved(path)},
    )


def moved(path: Path) -> bytes:
    """Return a session file with the scenario's folder: pi resumes none whose folder is missing."""
    lines = path.read_bytes().splitlines(keepends=True)
    header = {"type": "session", "cwd": str(PROJECT)}
    return b"".join(
        json.dumps(record | header).encode() + b"\n"
        if number < 2 and (record := json.loads(line)).get("type") == "session"
        else line
        for number, line in enumerate(lines)
    )


def program(version: str) -> Program:
    # Since 0.80, work such as a compaction can follow the end of a turn.
    is_early = version.startswith("0.7")
    end = '"type":"agent_end"' if is_early else '"type":"agent_settled"'
    return Program(
        environment={
            "PI_CODING_AGENT_DIR": "/mnt/home/.pi/agent",
            "PI_OFFLINE": "1",
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
        },
        files={**FILES, "project/AGENTS.md": MEMORY, f"{AGENT}/extensions/wire.ts": EXTENSION},
        sessions=[f"{AGENT}/sessions/**/*"],
        scenarios=scenarios(starter(end, "--mode", "rpc", *MODEL)),
    )


def starter(end: str, *arguments: str, begin: str = "") -> Callable[[Box], Any]:
    """Return a context manager that starts the RPC mode, and waits for the text `begin`, if any."""

    @contextmanager
    def start(box: Box) -> Iterator[Rpc]:
        with box.talk(*arguments) as talk:
            if begin:
                talk.wait(begin)
            yield Rpc(talk, end)

    return start
