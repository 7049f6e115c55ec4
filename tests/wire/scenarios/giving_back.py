"""Scenarios of Claude Code with refold's plugin: rules, a compaction that forgets two of them, and what follows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.wire.box import ROOT, Box, Scenario
from tests.wire.replies import say
from tests.wire.scenarios.claude_code import ask, main_rule
from tests.wire.scenarios.common import ends_with, summaries

SOURCES: Final = Path(__file__).parents[3]
PLUGIN: Final = SOURCES / "integrations" / "claude-code"
RULES: Final = (
    "Never touch anything in db/frozen; those files are signed.",
    "Every commit message ends with the line Reviewed-by: nobody.",
    "Answer in one sentence.",
)
"""The words of the person; the summary has only the last."""
SUMMARY: Final = f"<summary>\n1. The person said: {RULES[-1]}\n</summary>"
STORE: Final = ROOT / "store"
_PROGRAM: Final = f'#!/bin/sh\nexec {sys.executable} -m refold "$@"\n'
_LOCKED: Final = (
    "import sys, time\n"
    "import lmdb\n"
    "with lmdb.open(sys.argv[1], max_dbs=64, map_size=1 << 30).begin(write=True):\n"
    "    print('locked', flush=True)\n"
    "    time.sleep(600)\n"
)


def _talk(box: Box, refold: str, *, is_stock: bool = False, is_locked: bool = False) -> None:
    """Tell three rules, compact, and ask on, with a program `refold`, "" for none."""
    box.environment["PATH"] = f"{ROOT / 'bin'}:{box.environment['PATH']}"
    program = ROOT / "bin" / "refold"
    program.parent.mkdir()
    if refold:
        program.write_text(refold)
        program.chmod(0o755)
    shutil.copytree(PLUGIN, ROOT / "plugin")
    if is_stock:
        shutil.rmtree(ROOT / "plugin/hooks")
    loaded = ("--plugin-dir", str(ROOT / "plugin"))
    for number, rule in enumerate(RULES):
        ask(box, rule, *loaded, *(["--continue"] if number else []))
    locked = subprocess.Popen([sys.executable, "-c", _LOCKED, str(STORE)], stdout=-1) if is_locked else None
    if locked is not None and locked.stdout is not None:
        locked.stdout.readline()
    ask(box, "/compact", *loaded, "--continue")
    ask(box, "Go on.", *loaded, "--continue")
    if locked is not None:
        locked.kill()
        locked.wait()
    log = Path(f"{STORE}.hook.log")
    box.log.with_name("hook.log").write_text(log.read_text() if log.exists() else "")


def _scenario(name: str, refold: str, *, is_stock: bool = False, is_locked: bool = False) -> Scenario:
    return Scenario(
        name,
        lambda box: _talk(box, refold, is_stock=is_stock, is_locked=is_locked),
        [
            summaries(ends_with("CRITICAL: Respond with TEXT ONLY"), SUMMARY),
            main_rule(*(say(f"Understood {number}.") for number in range(len(RULES))), say("Went on.")),
        ],
        environment={"REFOLD_STORE": str(STORE), "PYTHONPATH": str(SOURCES)},
    )


SCENARIOS: Final = (
    _scenario("stock", "", is_stock=True),
    _scenario("given-back", _PROGRAM),
    _scenario("missing", ""),
    _scenario("crashing", "#!/bin/sh\necho half an answer; kill -SEGV $$\n"),
    _scenario("hanging", "#!/bin/sh\nexec sleep 60\n"),
    _scenario("locked", _PROGRAM, is_locked=True),
)
