"""Tell Claude Code what to do, by its command line and by JSON lines."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from compaction.summarizers.command import CommandSummarizer
from tests.compaction.summarizers.prompts import prompt
from tests.wire.box import ROOT, URL, Box, Program, Scenario, Screen, Talk, newest
from tests.wire.model import Rule
from tests.wire.replies import OVERLOADED, TOO_LONG, Call, Reply, Thinking, refuse, say
from tests.wire.scenarios.common import (
    FILES,
    MEMORY,
    PARTS,
    RESUMING,
    ends_with,
    offers,
    parts,
    picture,
    read_both,
    read_parts,
    summaries,
    task_of_agent,
)

MODEL: Final = ("--model", "claude-sonnet-4-5")
MAY: Final = (
    *MODEL,
    *("--permission-mode", "acceptEdits"),
    *("--allowedTools", "Bash Read Edit Write Grep Glob Agent Task"),
)
DONE: Final = '"type":"result"'
FIRST: Final = "11111111-1111-4111-8111-111111111111"
SUMMARY: Final = (
    "<analysis>\nLooked.\n</analysis>\n\n<summary>\n1. Asked to read files and change a.py (summary {}).\n"
    "2. Never touch migrations/.\n</summary>"
)
SUMMARIES: Final = summaries(ends_with("CRITICAL: Respond with TEXT ONLY"), SUMMARY)


def main_rule(*replies: Reply) -> Rule:
    return Rule("main", offers("Bash"), replies)


def ask(box: Box, text: str, *more: str) -> None:
    box.run("-p", text, *MAY, "--output-format", "json", *more)


def talking(*more: str) -> tuple[str, ...]:
    formats = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    return ("-p", *formats, *MAY, *more)


def send(claude: Talk, text: str) -> None:
    claude.send({"type": "user", "message": {"role": "user", "content": text}})


def tell(claude: Talk, text: str) -> None:
    send(claude, text)
    claude.wait(DONE)


def read(name: str) -> Call:
    return Call("Read", {"file_path": f"/mnt/project/{name}"})


def shell(command: str) -> Call:
    return Call("Bash", {"command": command, "description": "Run"})


def edit(name: str, old: str, new: str) -> Call:
    return Call("Edit", {"file_path": f"/mnt/project/{name}", "old_string": old, "new_string": new})


def tools(box: Box) -> None:
    ask(box, "Read a.py and b.py and make a return 10.")
    ask(box, "Look at the picture and the log.", "--continue")
    ask(box, "What did you change?", "--continue")


def manual(box: Box) -> None:
    ask(box, "Read a.py.")
    ask(box, "Read b.py.", "--continue")
    ask(box, "/compact", "--continue")
    ask(box, "Edit a.py to return 5.", "--continue")
    ask(box, "/compact keep the names of functions", "--continue")
    ask(box, "/compact", "--continue")
    ask(box, "Go on.", "--continue")


def automatic(box: Box) -> None:
    with box.talk(*talking()) as claude:
        for number in PARTS:
            tell(claude, f"Read part{number}.txt.")
    ask(box, "And what was it all about?", "--continue")


def replaced(box: Box) -> None:
    plugin = ("--plugin-dir", "/mnt/plugin")
    with box.talk(*talking(*plugin)) as claude:
        tell(claude, "Read a.py.")
        tell(claude, "Read b.py.")
        for keeps in range(2, 5):
            tell(claude, f"/compact keep {keeps}")
            tell(claude, f"Read a.py again, {keeps}.")
        tell(claude, "/compact not now")
        tell(claude, "What is left?")
        tell(claude, "/compact")
        tell(claude, "Go on.")
    ask(box, "And on.", "--continue", *plugin)


REPLACING: Final = """
export function register(on) {
  on('session.compact', async ($, e, next) => {
    const said = e.instructions || '';
    if (said.includes('not now')) {
      return { skip: 'the plugin said so' };
    }
    const keeps = Number(said.replace(/\\D/g, ''));
    const notes = { role: 'user', text: `NOTES OF THE PLUGIN: ${e.messages.length} messages.`, toolUses: [] };
    return { messages: [notes, ...(keeps ? e.messages.slice(-keeps) : [])] };
  });
}
"""
"""A module of a plugin that compacts in Claude Code's place: it keeps as many messages as it is told to."""


def fork(box: Box) -> None:
    ask(box, "Read a.py.", "--session-id", FIRST)
    ask(box, "Read b.py.", "--resume", FIRST)
    ask(box, "Another way: list files.", "--resume", FIRST, "--fork-session")
    ask(box, "Back on the first: say hi.", "--resume", FIRST)


def rewind(box: Box) -> None:
    ask(box, "Read a.py.", "--session-id", FIRST)
    ask(box, "Read b.py.", "--resume", FIRST)
    written = newest("home/.claude/projects/*/*.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in written if '"a returns 1."' in line]
    answer = next(record["uuid"] for record in records if record["type"] == "assistant")
    ask(box, "Rewound: say so.", "--resume", FIRST, "--resume-session-at", answer)
    ask(box, "And go on.", "--continue")


UP: Final = "\x1b[A"
READY: Final = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"


def rewind_by_hand(box: Box) -> None:
    with _rewound(box) as screen:
        screen.press("\r")
        time.sleep(2)
        screen.press("\x15Rewound: say so.\r")
        screen.wait("So.")
    ask(box, "And go on.", "--continue")


def summarize_by_hand(box: Box, choice: str) -> None:
    with _rewound(box) as screen:
        screen.press(choice)
        screen.wait("Summarized")
        screen.press("\x15Now say so.\r")
        screen.wait("So.")
    ask(box, "And go on.", "--continue")


@contextmanager
def _rewound(box: Box) -> Iterator[Screen]:
    """Talk in a terminal, then choose an earlier prompt in the menu of `/rewind`."""
    with box.screen(*MAY, "--session-id", FIRST) as screen:
        screen.wait(READY)
        for said, answer in (("Read a.py.", "a returns 1."), ("Read b.py.", "b returns 2.")):
            screen.press(f"{said}\r")
            screen.wait(answer)
        screen.press("/rewind\r")
        screen.wait("Rewind")
        screen.press(f"{UP}\r")
        screen.wait("Restore")
        yield screen


def agents(box: Box) -> None:
    with box.talk(*talking()) as claude:
        tell(claude, "Ask an agent about a.py.")
        tell(claude, "Now a fork and one in the background.")
        time.sleep(4)
        tell(claude, "Sum up.")


def errors(box: Box) -> None:
    ask(box, "Read a.py.")
    ask(box, "Read b.py.", "--continue")
    ask(box, "Say more.", "--continue")
    ask(box, "Too long now.", "--continue")
    ask(box, "After it.", "--continue")
    ask(box, "And on.", "--continue", "--model", "claude-opus-4-5")


def steering(box: Box) -> None:
    with box.talk(*talking()) as claude:
        tell(claude, "Look at @a.py and go.")
        send(claude, "slow one")
        time.sleep(1)
        tell(claude, "typed while you work")
        tell(claude, "Read sub/x.py.")
    (ROOT / "project/a.py").write_text("def a():\n    return 77\n")
    ask(box, "Anything new?", "--continue")


def command_hook(text: str, **more: str) -> dict[str, object]:
    return {**more, "hooks": [{"type": "command", "command": f"echo '{text}'"}]}


AFTER_READ: Final = {
    "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "HOOK-AFTER"}
}
SETTINGS: Final = {
    "hooks": {
        "UserPromptSubmit": [command_hook("HOOK-SAYS: be careful")],
        "PostToolUse": [command_hook(json.dumps(AFTER_READ), matcher="Read")],
        "SessionStart": [command_hook("HOOK-START")],
    }
}


def agent(prompt: str, kind: str, *, in_background: bool = False) -> Call:
    arguments = {"description": "Look", "prompt": f"AGENT-TASK {prompt}", "subagent_type": kind}
    return Call("Agent", {**arguments, "run_in_background": in_background})


TRUSTED: Final = {
    "hasCompletedOnboarding": True,
    "theme": "dark",
    "customApiKeyResponses": {"approved": ["sk-ant-stub"], "rejected": []},
    "projects": {"/mnt/project": {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
}
"""The settings of a home in which a person has answered the questions of the first start."""
SCENARIOS: Final = (
    Scenario(
        "tools",
        tools,
        [
            main_rule(
                say(Thinking("Look at both files."), "I will read both.", read("a.py"), read("b.py")),
                say(shell("cat nothere.txt"), edit("a.py", "return 1", "return 10")),
                say(Thinking("Done now."), "Changed a to 10."),
                say("Now the picture.", read("picture.png"), shell("seq 1 9000")),
                say(
                    edit("b.py", "nothing like this", "x"),
                    Call("Write", {"file_path": "/mnt/project/c.py", "content": "C = 1\n"}),
                ),
                say("A red square and a long log."),
                say("a() returns 10; c.py is new."),
            )
        ],
        {"project/picture.png": picture()},
        is_quick=True,
    ),
    Scenario(
        "manual-compaction",
        manual,
        [
            SUMMARIES,
            main_rule(
                *read_both(read),
                say(edit("a.py", "return 1", "return 5")),
                say("Edited."),
                say("Went on."),
            ),
        ],
    ),
    Scenario(
        "replaced-compaction",
        replaced,
        [
            main_rule(
                *read_both(read),
                *(reply for keeps in range(2, 5) for reply in (say(read("a.py")), say(f"Still 1, {keeps}."))),
                say("Nothing is left."),
                say("Went on."),
                say("And on."),
            ),
        ],
        {
            "plugin/.claude-plugin/plugin.json": json.dumps({"name": "short", "version": "1.0.0"}),
            "plugin/hooks/hooks.json": json.dumps({"modules": ["./short.mjs"], "hooks": {}}),
            "plugin/hooks/short.mjs": REPLACING,
        },
    ),
    Scenario(
        "automatic-compaction",
        automatic,
        [
            SUMMARIES,
            main_rule(*read_parts(read), say("About numbers.")),
        ],
        parts(250),
        {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"},
        factor=2,
    ),
    Scenario(
        "fork",
        fork,
        [
            main_rule(
                say(read("a.py")),
                say("a returns 1."),
                say(read("b.py"), shell("ls")),
                say("b returns 2."),
                say(shell("ls")),
                say("Listed."),
                say("hi"),
            )
        ],
    ),
    Scenario(
        "rewind",
        rewind,
        [main_rule(*read_both(read), say("So."), say("On."))],
    ),
    *(
        Scenario(
            name,
            run,
            [SUMMARIES, main_rule(*read_both(read), say("So."), say("On."))],
            {"home/.claude/.claude.json": json.dumps(TRUSTED)},
        )
        for name, run in (
            ("rewind-by-hand", rewind_by_hand),
            ("summary-from-here", partial(summarize_by_hand, choice="2")),
            ("summary-up-to-here", partial(summarize_by_hand, choice="3")),
        )
    ),
    Scenario(
        "subagents",
        agents,
        [
            Rule(
                "agent begins",
                ends_with("AGENT-TASK"),
                [say("Reading.", read("a.py")), say(read("b.py")), say(shell("ls"))],
            ),
            Rule(
                "agent",
                task_of_agent,
                [say("The agent says: a returns 1."), say("Another one: done."), say("Third.")],
            ),
            main_rule(
                say(agent("Read a.py and say what it returns.", "general-purpose")),
                say("The agent said 1."),
                say(
                    agent("Go on and read b.py.", "fork"), agent("List files.", "Explore", in_background=True)
                ),
                say("Both run."),
                say("In sum: fine."),
            ),
        ],
    ),
    Scenario(
        "errors",
        errors,
        [
            Rule(
                "overloaded",
                ends_with("Read a.py", "Bash"),
                [refuse(429, "rate_limit_error", "slow down", retry_after=1), OVERLOADED],
            ),
            Rule("too long", ends_with("Too long now", "Bash"), [TOO_LONG]),
            SUMMARIES,
            main_rule(
                say(read("a.py")),
                say("a returns 1."),
                say("Cut in the mid", is_cut=True),
                say(read("b.py")),
                say("b returns 2."),
                say("More text that stops", stop="max_tokens"),
                say("rest."),
                say("After the compaction."),
            ),
        ],
    ),
    Scenario(
        "steering",
        steering,
        [
            main_rule(
                say("Seen a."),
                say("Working.", shell("sleep 2; echo slept"), delay=0.5),
                say("Slept, and saw what you typed."),
                say(read("sub/x.py")),
                say("x read."),
                say("a.py changed?"),
            )
        ],
        {
            "project/sub/x.py": "X = 1\n",
            "project/sub/CLAUDE.md": "In sub, be brief.\n",
            "home/.claude/CLAUDE.md": "User rule: answer in English.\n",
            "project/.claude/settings.json": json.dumps(SETTINGS),
        },
    ),
)


_MODULES: Final = (2, 1, 287)
"""The first version whose plugins have modules."""
_LATE: Final = ("replaced-compaction", "rewind-by-hand", "summary-from-here", "summary-up-to-here")
"""Scenarios that early versions lack, or whose screens look otherwise."""


SERVER: Final = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answers = {
        "initialize": {
            "protocolVersion": asked.get("params", {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "danger", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "wipe", "description": "Wipe.", "inputSchema": {"type": "object"}}]},
    }
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked["method"], {})}), flush=True)
"""
"""A server of tools for any session of this home."""


def asked(box: Box) -> None:
    """Have refold's `command` ask it, as its page says, in a home that offers tools of a server."""
    keeps = " ".join(name for name in box.environment if re.match("ANTHROPIC|CLAUDE|DISABLE", name))
    command = shlex.join(
        [*box.command, *shlex.split(re.search("`claude (-p [^`]*)`", PAGE.read_text())[1]), *MODEL]
    )
    summarizer = CommandSummarizer(command, environment=box.environment, keeps=keeps, timeout=60)
    box.log.write_text(summarizer.summarize(prompt(), is_cancelled=lambda: False).text)


PAGE: Final = Path(__file__).parents[3] / "docs/summaries.md"
ASKED: Final = Scenario(
    "asked",
    asked,
    [],
    {
        "server.py": SERVER,
        "home/.claude/.claude.json": json.dumps(
            {"mcpServers": {"danger": {"command": sys.executable, "args": ["/mnt/server.py"]}}}
        ),
    },
)


def resumed(path: Path) -> Scenario:
    """Return the scenario that resumes a session from its file, put where Claude Code finds it."""
    records = [*map(json.loads, path.read_text("utf-8").splitlines())]
    session = next(record["sessionId"] for record in records if record.get("sessionId"))
    # Thoughts of another model are not sent.
    models = [each["message"]["model"] for each in records if each["type"] == "assistant"]
    return Scenario(
        path.stem,
        lambda box: ask(box, RESUMING, "--resume", session, "--model", *(models or MODEL)[-1:]),
        [SUMMARIES, main_rule(say("Resumed."))],
        {f"home/.claude/projects/-mnt-project/{session}.jsonl": path.read_bytes()},
        {"DISABLE_AUTO_COMPACT": "1"},
    )


def program(version: str) -> Program:
    is_early = tuple(map(int, version.split("."))) < _MODULES
    return Program(
        environment={
            "ANTHROPIC_BASE_URL": URL,
            "ANTHROPIC_API_KEY": "sk-ant-stub",
            "CLAUDE_CONFIG_DIR": "/mnt/home/.claude",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        files={**FILES, "project/CLAUDE.md": MEMORY},
        sessions=["home/.claude/projects/**/*.jsonl"],
        scenarios=[each for each in SCENARIOS if not is_early or each.name not in _LATE],
    )
