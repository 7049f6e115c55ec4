"""Tell oh-my-pi what to do, by its command line and its RPC mode."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Final

from tests.wire.box import ROOT, URL, Box, Program, Scenario
from tests.wire.model import Rule
from tests.wire.replies import OVERLOADED, Call, Thinking, say
from tests.wire.scenarios.common import (
    FILES,
    MEMORY,
    PARTS,
    RESUMING,
    WINDOW,
    before_and_after_compactions,
    ends_with,
    offers,
    parts,
    picture,
    read_parts,
    summaries,
    task_of_agent,
)
from tests.wire.scenarios.pi import (
    EXTENSION,
    SUMMARIES,
    Tools,
    compact_by_hand,
    main_rule,
    model_in,
    moved,
    starter,
    steer_and_abort,
    use_tools,
)

AGENT: Final = "home/.omp/agent"
TOOLS: Final = Tools("_")
OPTIONS: Final = (
    *("--model", "stub/stub-1", "--thinking", "high"),
    *("--no-lsp", "--no-title", "--auto-approve"),
)


def models(provider: str, api: str, *names: str, window: int = WINDOW) -> str:
    """Return the models of a provider whose requests have the shape of `api`."""
    base = URL if api == "anthropic-messages" else f"{URL}/v1"
    fields = {
        "reasoning": True,
        "input": ["text", "image"],
        "contextWindow": window,
        "maxTokens": 8000,
        "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25},
    }
    listed = [{"id": name, "name": name, **fields} for name in names]
    # JSON is YAML.
    return json.dumps(
        {"providers": {provider: {"baseUrl": base, "apiKey": "stub", "api": api, "models": listed}}}
    )


MODELS: Final = models("stub", "anthropic-messages", "stub-1", "stub-2", window=100_000)
CONFIG: Final = """modelRoles:
  default: stub/stub-1
  smol: stub/stub-1
startup:
  checkUpdate: false
  quiet: true
  setupWizard: false
retry:
  baseDelayMs: 200
compaction:
  asyncEnabled: false
  keepRecentTokens: {keep}
  thresholdTokens: {threshold}
  methodOrder: [{method}]
"""
HANDOFFS: Final = Rule(
    "handoff",
    lambda request: "handoff" in request.last and "Read part" not in request.last and bool(request.tools),
    [say(f"# Handoff {number}\n\n## Goal\nRead the files.") for number in range(1, 9)],
)

start = starter('"type":"agent_end"', "--mode", "rpc", *OPTIONS, begin='"type":"ready"')


def configured(method: str, *, keep: int = 2000, threshold: int = 22_000) -> dict[str, str]:
    return {f"{AGENT}/config.yml": CONFIG.format(method=method, keep=keep, threshold=threshold)}


REMOTE: Final = {
    f"{AGENT}/config.yml": configured("remote")[f"{AGENT}/config.yml"]
    + f"  remoteEndpoint: {URL}/v1/chat/completions\n"
}
"""A configuration in which another server writes the summaries."""
QUIET: Final = configured("soft", keep=300, threshold=90_000)
"""A configuration that compacts only when it is told to."""


def automatic(box: Box) -> None:
    with start(box) as pi:
        for number in PARTS:
            pi.ask(f"Read part{number}.txt.")
            time.sleep(0.5)
    box.run("-p", *OPTIONS, "-c", "What was it about?")


def tree(box: Box) -> None:
    with start(box) as pi:
        pi.ask("Read a.py.")
        pi.ask("Read b.py.")
        pi.command("/goto 1 yes", 1.5)
        pi.ask("Other way: list.")
        pi.command("/goto 0 no")
        pi.ask("From the start.")


def errors(box: Box) -> None:
    with start(box) as pi:
        pi.ask("Read a.py.")
        time.sleep(1)
        steer_and_abort(pi)
        pi.ask("Read a.py again.")
        pi.do("set_model", provider="stub", modelId="stub-2")
        pi.ask("Other model.")
        pi.do("bash", command="echo typed by the person")
        pi.command("/note be careful", 0.5)
        pi.ask("And now?")
    box.run("-p", *OPTIONS, "-c", "And on.")


def agents(box: Box) -> None:
    with start(box) as pi:
        pi.ask("Ask an agent about a.py.")
        time.sleep(4)
        pi.ask("Sum up.")
        time.sleep(1)


SCENARIOS: Final = (
    Scenario(
        "tools",
        partial(use_tools, options=OPTIONS),
        [TOOLS.use_all(TOOLS.write("a.py", "def a():\n    return 10\n"))],
        QUIET | {"project/picture.png": picture()},
        is_quick=True,
    ),
    *(
        Scenario(
            f"compaction-{method}",
            automatic,
            [
                HANDOFFS,
                SUMMARIES,
                main_rule(*read_parts(TOOLS.read), say("Numbers.")),
            ],
            configured(method) | parts(200),
        )
        for method in ("soft", "shake", "snapcompact", "handoff")
    ),
    Scenario(
        "compaction-remote",
        automatic,
        [
            summaries(lambda request: request.api == "chat", "## Goal\nRead the files (summary {})."),
            main_rule(*read_parts(TOOLS.read), say("Numbers.")),
        ],
        REMOTE | parts(200),
    ),
    Scenario(
        "manual-compaction",
        partial(compact_by_hand, options=OPTIONS, rpc=start),
        [SUMMARIES, main_rule(*before_and_after_compactions(TOOLS.read))],
        QUIET | parts(150),
    ),
    Scenario("tree", tree, [SUMMARIES, main_rule(*TOOLS.in_a_tree())], QUIET),
    Scenario(
        "errors",
        errors,
        [
            Rule("overloaded", ends_with("Read a.py.", "read"), [OVERLOADED]),
            main_rule(
                say(Thinking("One."), TOOLS.read("a.py")),
                *TOOLS.interrupted(),
                say(Thinking("Again."), TOOLS.read("a.py")),
                say("Still 1."),
                say("From the second model."),
                say("Now this."),
            ),
        ],
        QUIET,
    ),
    Scenario(
        "subagents",
        agents,
        [
            Rule(
                "agent",
                lambda request: task_of_agent(request) and bool(request.tools),
                [
                    say("Reading.", TOOLS.read("a.py")),
                    say(Call("yield", {"result": {"data": "a returns 1"}})),
                ],
            ),
            Rule(
                "main",
                offers("read", "_read"),
                [
                    say(
                        Call(
                            "task",
                            {
                                "i": "look",
                                "context": "ctx",
                                "tasks": [
                                    {"task": "AGENT-TASK Read a.py.", "name": "LookAtA", "agent": "task"}
                                ],
                            },
                        )
                    ),
                    say("It runs."),
                    say("The agent said 1."),
                    say("In sum: fine."),
                ],
            ),
        ],
        QUIET,
    ),
)


def resumed(path: Path) -> Scenario:
    """Return the scenario that resumes a session from its file, with the model that it used last."""
    provider, model, api = model_in(path)
    options = (*("--model", f"{provider}/{model}"), *OPTIONS[2:])
    return Scenario(
        path.stem,
        lambda box: box.run("-p", *options, "--resume", str(ROOT / "session.jsonl"), RESUMING),
        [SUMMARIES, main_rule(say("Resumed."))],
        {
            **configured("soft", threshold=WINDOW),
            f"{AGENT}/models.yml": models(provider, api, model),
            "session.jsonl": moved(path),
        },
    )


def program(version: str) -> Program:  # noqa: ARG001  every release does the same
    return Program(
        environment={"PI_CODING_AGENT_DIR": "/mnt/home/.omp/agent", "PI_NO_TITLE": "1", "PI_TELEMETRY": "0"},
        files={
            **FILES,
            "project/AGENTS.md": MEMORY,
            f"{AGENT}/models.yml": MODELS,
            f"{AGENT}/extensions/wire.ts": EXTENSION,
        },
        sessions=[f"{AGENT}/sessions/**/*.jsonl"],
        scenarios=SCENARIOS,
    )
