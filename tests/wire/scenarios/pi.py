"""Tell pi what to do, by its command line and its RPC mode."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tests.wire.box import URL, Box, Program, Scenario, Talk
from tests.wire.model import Rule
from tests.wire.replies import OVERLOADED, TOO_LONG, Call, Reply, Thinking, say
from tests.wire.scenarios.common import (
    FILES,
    MEMORY,
    PARTS,
    ends_with,
    offers,
    offers_none,
    parts,
    picture,
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


def models(api: str, window: int) -> str:
    base = URL if api == "anthropic-messages" else f"{URL}/v1"
    fields = {
        "reasoning": True,
        "input": ["text", "image"],
        "contextWindow": window,
        "maxTokens": 8000,
        "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25},
    }
    listed = [{"id": name, "name": name, **fields} for name in ("stub-1", "stub-2")]
    stub = {"baseUrl": base, "apiKey": "stub", "api": api, "models": listed}
    return json.dumps({"providers": {"stub": stub}})


def configured(
    *, api: str = "anthropic-messages", window: int = 200_000, keep: int = 20_000
) -> dict[str, str]:
    compaction = {"enabled": True, "reserveTokens": 4000, "keepRecentTokens": keep}
    settings = {
        "defaultProvider": "stub",
        "defaultModel": "stub-1",
        "quietStartup": True,
        "compaction": compaction,
        "retry": {"enabled": True, "maxRetries": 2, "baseDelayMs": 200},
    }
    return {f"{AGENT}/models.json": models(api, window), f"{AGENT}/settings.json": json.dumps(settings)}


def tools(box: Box) -> None:
    box.run("-p", *MODEL, "Read a.py and b.py and make a return 10.")
    box.run("-p", "-c", *MODEL, "Look at the picture and the log.")
    box.run("-p", "-c", *MODEL, "What did you change?")


TOOLS: Final = main_rule(
    say(
        Thinking("Look at both."),
        "Reading both.",
        Call("read", {"path": "a.py"}),
        Call("read", {"path": "b.py"}),
    ),
    say(
        Call("bash", {"command": "cat nothere.txt"}),
        Call("edit", {"path": "a.py", "edits": [{"oldText": "return 1", "newText": "return 10"}]}),
    ),
    say(Thinking("Done."), "a returns 10."),
    say(
        "The picture.",
        Call("read", {"path": "picture.png"}),
        Call("bash", {"command": "seq 1 9000"}),
        Call("read", {"path": "nothere.py"}),
    ),
    say(Call("write", {"path": "c.py", "content": "def c():\n    return 3\n"})),
    say("A red square."),
    say("I changed a()."),
)


def scenarios(rpc: Callable[[Box], Any]) -> Sequence[Scenario]:
    """Return the scenarios; `rpc` starts the RPC mode."""

    def automatic(box: Box) -> None:
        with rpc(box) as pi:
            for number in PARTS:
                pi.ask(f"Read part{number}.txt.")
        box.run("-p", "-c", *MODEL, "What was it about?")

    def manual(box: Box) -> None:
        with rpc(box) as pi:
            pi.ask("Read a.py.")
            pi.ask("Read b.py.")
            pi.do("compact")
            pi.ask("Read part1.txt.")
            pi.do("compact", customInstructions="keep names")
            pi.do("compact")
            pi.ask("Go on.")
        box.run("-p", "-c", *MODEL, "And on.")

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
            pi.begin("Slow one.")
            time.sleep(1.2)
            pi.talk.send({"type": "steer", "message": "typed while you work"})
            pi.wait_for_end()
            pi.begin("Abort this.")
            time.sleep(0.8)
            pi.do("abort")
            time.sleep(0.5)
            pi.ask("After the abort.")
            pi.ask("Long answer.")
            pi.ask("Too long now.")
            time.sleep(1.5)
            pi.ask("After it.")
        box.run("-p", "-c", *MODEL, "And on.")

    return (
        Scenario("tools", tools, [TOOLS], configured() | {"project/picture.png": picture()}, is_quick=True),
        *(
            Scenario(
                f"tools-{name}", tools, [TOOLS], configured(api=api) | {"project/picture.png": picture()}
            )
            for name, api in (("chat", "openai-completions"), ("responses", "openai-responses"))
        ),
        Scenario(
            "automatic-compaction",
            automatic,
            [SUMMARIES, main_rule(*read_parts(lambda name: Call("read", {"path": name})), say("Numbers."))],
            configured(window=9_000, keep=1_500) | parts(150),
        ),
        Scenario(
            "manual-compaction",
            manual,
            [
                SUMMARIES,
                main_rule(
                    say(Call("read", {"path": "a.py"})),
                    say("a returns 1."),
                    say(Call("read", {"path": "b.py"})),
                    say("b returns 2."),
                    say(Call("read", {"path": "part1.txt"})),
                    say("Many lines."),
                    say("Went on."),
                    say("On."),
                ),
            ],
            configured(keep=300) | parts(150),
        ),
        Scenario(
            "tree",
            tree,
            [
                SUMMARIES,
                main_rule(
                    say(Thinking("One."), Call("read", {"path": "a.py"})),
                    say("a returns 1."),
                    say(Call("read", {"path": "b.py"})),
                    say("b returns 2."),
                    say(Thinking("Two."), Call("bash", {"command": "ls"})),
                    say("Listed."),
                    say("Now this."),
                    say(Thinking("Three."), "Again."),
                    say("From the second model."),
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
                    say(Call("read", {"path": "a.py"})),
                    say("a returns 1."),
                    say("Sleeping.", Call("bash", {"command": "sleep 2; echo slept"})),
                    say("Saw it."),
                    say("half an answer that is cut in the middle of it", stall=4),
                    say("After."),
                    say("A long ans", stop="max_tokens"),
                    say("After the compaction."),
                ),
            ],
            configured(keep=300),
        ),
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
