"""Scenarios with refold's integrations: rules, a compaction whose summary forgets two of them, and what follows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from cli.commands.install import INTEGRATIONS, SETUPS
from tests.wire.box import ROOT, Box, Scenario
from tests.wire.model import Rule
from tests.wire.replies import say
from tests.wire.scenarios import claude_code, codex, oh_my_pi, opencode, pi
from tests.wire.scenarios.common import ends_with, lines, offers_none, parts, read_parts, summaries

SOURCES: Final = Path(__file__).parents[3]
RULES: Final = (
    "Never touch anything in db/frozen; those files are signed.",
    "Every commit message ends with the line Reviewed-by: nobody.",
    "Answer in one sentence.",
)
"""The words of the person; the summary has only the last."""
SUMMARY: Final = f"<summary>\n1. The person said: {RULES[-1]}\n</summary>"
STORE: Final = ROOT / "store"
_PLUGIN: Final = ROOT / "plugin"
_PROGRAM: Final = f'#!/bin/sh\nexec {sys.executable} -m refold "$@"\n'
_POLICY: Final = """name = "short"
cut = {part = "keep-recent", tokens = 1500}
prompting = {summarizer = "extractive"}
"""
_LOCKED: Final = (
    "import sys, time\n"
    "import lmdb\n"
    "with lmdb.open(sys.argv[1], max_dbs=64, map_size=1 << 30).begin(write=True):\n"
    "    print('locked', flush=True)\n"
    "    time.sleep(600)\n"
)
_UNDERSTOOD: Final = [say(f"Understood {number}.") for number in range(len(RULES))]


class Talk(NamedTuple):
    """The steps of a person in a harness; `add` installs the integration, from a copy of `folder` at `_PLUGIN`."""

    folder: str
    add: Callable[[Box], object]
    run: Callable[[Box], None]
    rules: Sequence[Rule]
    files: Mapping[str, str | bytes] = {}
    environment: Mapping[str, str] = {}
    factor: float = 1


def _in_claude_code(box: Box) -> None:
    with box.talk(*claude_code.talking("--plugin-dir", str(_PLUGIN))) as claude:
        for words in (*RULES, *_COUNT, "Go on."):
            claude_code.tell(claude, words)
    claude_code.ask(box, "And on.", "--continue", "--plugin-dir", str(_PLUGIN))


def _asking(box: Box, *words: str) -> None:
    with box.talk(*claude_code.talking("--plugin-dir", str(_PLUGIN))) as claude:
        for each in words:
            claude_code.tell(claude, each)


def _without_modules(_: Box) -> None:
    hooks = _PLUGIN / "hooks" / "hooks.json"
    hooks.write_text(hooks.read_text().replace('"modules"', '"others"'))


def _adding_to(harness: str) -> Callable[[Box], None]:
    def add(box: Box) -> None:
        for words in SETUPS[harness].commands(_PLUGIN):
            box.run(*words)

    return add


def _in_codex(box: Box, *trusted: str) -> None:
    # Codex keeps the newest 20,000 tokens of what a person says.
    said = (*RULES, f"The log:\n{lines('log', 3200)}", "Go on.", "And on.")
    for number, words in enumerate(said):
        resumed = ("resume", "--last") if number else ()
        box.run("exec", *resumed, *codex.OPTIONS, *trusted, words)


def _add_to_opencode(_: Box) -> None:
    shutil.copytree(_PLUGIN, ROOT / "home/config/opencode/plugins")


def _within_a_turn(box: Box) -> None:
    with oh_my_pi.start(box) as rpc:
        for words in (*RULES, "Read all parts.", "Go on."):
            rpc.ask(words)
    box.run("-p", *oh_my_pi.OPTIONS, "-c", "And on.")


def _in_opencode(box: Box) -> None:
    opencode.commit(box)
    with box.talk("serve", "--port", opencode.SERVER.rpartition(":")[2]):
        server = opencode.Server()
        for words in (*RULES, *_READ, "Go on."):
            server.ask(words)
    opencode.ask(box, "And on.", "-c")


def _by_hand(box: Box) -> None:
    opencode.commit(box)
    with box.talk("serve", "--port", opencode.SERVER.rpartition(":")[2]):
        server = opencode.Server()
        for words in (*RULES, *_READ):
            server.ask(words)
        server.compact()
        server.ask("Go on.")


def _in_pi(box: Box) -> None:
    with pi.starter('"type":"agent_settled"', "--mode", "rpc", *pi.MODEL)(box) as rpc:
        for words in (*RULES, *_READ, "Go on."):
            rpc.ask(words)
    box.run("-p", "-c", *pi.MODEL, "And on.")


def _in_oh_my_pi(box: Box) -> None:
    with oh_my_pi.start(box) as rpc:
        for words in (*RULES, *_READ, "Go on."):
            rpc.ask(words)
    box.run("-p", *oh_my_pi.OPTIONS, "-c", "And on.")


# pi summarizes the beginning of a turn by itself, and oh-my-pi writes a short summary as well.
_SUMMARIES: Final = (
    summaries(lambda request: not request.tools and RULES[0] in request.text, SUMMARY),
    summaries(offers_none, "Part {} was read."),
)
_READ: Final = tuple(f"Read part{number}.txt." for number in range(1, 4))
_COUNT: Final = tuple(f"Count, part {number}." for number in range(1, 10))
# Which files Claude Code restores that were read differs from run to run, so none is.
_COUNTED: Final = [
    reply
    for words in _COUNT
    for reply in (say(claude_code.shell("seq 100000 103800")), say(f"Done: {words}"))
]
_CODEX: Final = codex.main_rule(*_UNDERSTOOD, say("Long."), say("Went on."), say("And on."))
TALKS: Final = {
    "claude-code": Talk(
        "claude-code",
        lambda _: None,
        _in_claude_code,
        [
            summaries(ends_with("CRITICAL: Respond with TEXT ONLY"), SUMMARY),
            claude_code.main_rule(*_UNDERSTOOD, *_COUNTED, say("Went on."), say("And on.")),
        ],
        environment={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"},
        factor=2,
    ),
    "codex": Talk(
        "codex",
        _adding_to("codex"),
        lambda box: _in_codex(box, "--dangerously-bypass-hook-trust"),
        [summaries(ends_with("CONTEXT CHECKPOINT COMPACTION"), SUMMARY), _CODEX],
        codex.configured(limit=25_000, plugins=True),
    ),
    "opencode": Talk(
        "opencode",
        _add_to_opencode,
        _in_opencode,
        [
            opencode.TITLES,
            opencode.summaries_as(SUMMARY),
            opencode.main_rule(
                *_UNDERSTOOD, *opencode.READ_PARTS[:6], *(say(f"Went on {number}.") for number in range(4))
            ),
        ],
        {
            **opencode.configured(context=17_000, compaction={"auto": True, "prune": False}),
            **parts(200),
            # opencode installs a package when it loads a plugin, and tries for a minute.
            "home/.npmrc": "fetch-retries=0\n",
        },
    ),
    "pi": Talk(
        "pi",
        _adding_to("pi"),
        _in_pi,
        [
            *_SUMMARIES,
            pi.main_rule(*_UNDERSTOOD, *read_parts(pi.TOOLS.read)[:6], say("Went on."), say("And on.")),
        ],
        pi.configured(window=9_000, keep=1_500) | parts(150),
    ),
    "oh-my-pi": Talk(
        "pi",
        _adding_to("oh-my-pi"),
        _in_oh_my_pi,
        [
            *_SUMMARIES,
            pi.main_rule(*_UNDERSTOOD, *read_parts(oh_my_pi.TOOLS.read)[:6], say("Went on."), say("And on.")),
        ],
        oh_my_pi.configured("soft") | parts(200),
    ),
}


WITHIN_A_TURN: Final = TALKS["oh-my-pi"]._replace(
    run=_within_a_turn,
    rules=[
        *_SUMMARIES,
        pi.main_rule(
            *_UNDERSTOOD,
            *(say(oh_my_pi.TOOLS.read(f"part{number}.txt")) for number in range(1, 6)),
            *(say(f"Went on {number}.") for number in range(3)),
        ),
    ],
)
"""oh-my-pi compacts between the calls of a turn."""
REMOTE: Final = TALKS["codex"]._replace(
    rules=[codex.REMOTE, _CODEX],
    files=codex.configured(limit=25_000, is_openai=True, plugins=True),
    environment=codex.OF_OPENAI,
)
"""OpenAI compacts: only it can read the summary."""
UNTRUSTED: Final = TALKS["codex"]._replace(run=_in_codex)
"""The person has not trusted the hooks."""
COMMANDS: Final = TALKS["claude-code"]._replace(
    run=lambda box: _asking(box, RULES[0], "/refold:lost", "/refold:before", "/refold:recall"),
    rules=[claude_code.main_rule(*(say(f"Done {number}.") for number in range(4)))],
)
"""The person asks for what left, and for what would."""
WITHOUT_MODULES: Final = TALKS["claude-code"]._replace(add=_without_modules)
"""Claude Code loads no modules of plugins."""
BY_HAND: Final = TALKS["opencode"]._replace(
    run=_by_hand, files={**TALKS["opencode"].files, **opencode.configured(context=100_000)}
)
"""The person compacts in opencode."""


def _talk(box: Box, talk: Talk, refold: str, *, is_there: bool, is_locked: bool) -> None:
    box.environment["PATH"] = f"{ROOT / 'bin'}:{box.environment['PATH']}"
    program = ROOT / "bin" / "refold"
    program.parent.mkdir()
    if refold:
        program.write_text(refold)
        program.chmod(0o755)
    shutil.copytree(INTEGRATIONS / talk.folder, _PLUGIN)
    if is_there:
        talk.add(box)
    else:
        shutil.rmtree(_PLUGIN / "hooks", ignore_errors=True)
    # Which servers have answered by the time of a request differs from run to run.
    (_PLUGIN / ".mcp.json").unlink(missing_ok=True)
    with _locked() if is_locked else nullcontext():
        talk.run(box)
    log = Path(f"{STORE}.hook.log")
    box.log.with_name("hook.log").write_text(log.read_text() if log.exists() else "")


@contextmanager
def _locked() -> Iterator[None]:
    """Keep the store locked."""
    command = [sys.executable, "-c", _LOCKED, str(STORE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        if process.stdout is not None:
            process.stdout.readline()
        yield
        process.kill()


FAULTS: Final = ("missing", "crashing", "hanging", "locked", "asked")
"""The names of the scenarios in which refold gives no answer."""


def scenarios(harness: str) -> list[Scenario]:
    """Return the scenarios of a harness: without refold, with it, and with each fault."""
    talk = TALKS[harness]

    def scenario(
        name: str,
        refold: str = _PROGRAM,
        *,
        talk: Talk = talk,
        is_there: bool = True,
        is_locked: bool = False,
        **more: str,
    ) -> Scenario:
        return Scenario(
            name,
            lambda box: _talk(box, talk, refold, is_there=is_there, is_locked=is_locked),
            talk.rules,
            {**talk.files, "policy.toml": _POLICY},
            environment={
                "REFOLD_STORE": str(STORE),
                "PYTHONPATH": str(SOURCES),
                **talk.environment,
                **more,
            },
            factor=talk.factor,
        )

    return [
        scenario("stock", is_there=False),
        scenario("given-back"),
        scenario("missing", ""),
        scenario("crashing", "#!/bin/sh\necho half an answer; kill -SEGV $$\n"),
        scenario("hanging", "#!/bin/sh\nexec sleep 60\n"),
        scenario("locked", is_locked=True),
        scenario("asked", REFOLD_ASKS="refold-ask-12345678"),
        *([scenario("policy", REFOLD_POLICY=str(ROOT / "policy.toml"))] if talk.folder == "pi" else []),
        *([scenario("without-modules", talk=WITHOUT_MODULES)] if harness == "claude-code" else []),
        *([scenario("commands", talk=COMMANDS)] if harness == "claude-code" else []),
        *([scenario("within-a-turn", talk=WITHIN_A_TURN)] if harness == "oh-my-pi" else []),
        *([scenario("by-hand", talk=BY_HAND)] if harness == "opencode" else []),
        *([scenario("remote", talk=REMOTE)] if harness == "codex" else []),
        *([scenario("untrusted", talk=UNTRUSTED)] if harness == "codex" else []),
    ]
