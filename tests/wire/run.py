"""Run the scenarios of one release; keep what it sent and what it wrote in a folder.

    python -m tests.wire.run HARNESS VERSION FOLDER [--quick | --asked | --giving-back NAME ... | --resume FILE ...]

It runs itself again in namespaces of its own: a network that has only loopback, a file system at `/mnt` that no other
process sees, and a host name that says nothing. The program must be installed already. With `--resume`, each scenario
resumes a session file instead, with `--asked`, refold asks the program for an answer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from sqlite3 import Row, connect
from typing import Any, Final

from tests.wire.box import HOME, PORT, PROJECT, ROOT, Box, Program, Scenario
from tests.wire.install import Installed, cache_folder, install
from tests.wire.model import ModelServer

TREE: Final = "storage"
"""The folder of opencode's files before 1.2."""
_INSIDE: Final = "REFOLD_WIRE_INSIDE"
_NAMESPACES: Final = ("unshare", "--map-root-user", "--net", "--mount", "--uts")
_SET_UP: Final = f"ip link set lo up && hostname dev && mount -t tmpfs tmpfs {ROOT}"
_LAST_WRITES: Final = 0.3
"""Seconds in which a program that has ended finishes its files."""


def can_run() -> bool:
    """Return True if this machine has npm, and allows a run its own namespaces."""
    command = [*_NAMESPACES, "sh", "-c", _SET_UP]
    return (
        bool(shutil.which("npm") and shutil.which("unshare"))
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )


def program_of(harness: str, version: str) -> Program:
    """Return the scenarios of a harness, in the module of its name."""
    program: Program = _module_of(harness).program(version)
    return program


def _module_of(harness: str) -> Any:
    return import_module(f"tests.wire.scenarios.{harness.replace('-', '_')}")


def _scenarios(harness: str, program: Program, options: Sequence[str]) -> Sequence[Scenario]:
    if options[:1] == ["--resume"]:
        return [_module_of(harness).resumed(Path(name)) for name in options[1:]]
    if options[:1] == ["--giving-back"]:
        module = import_module("tests.wire.scenarios.giving_back")
        return [each for each in module.scenarios(harness) if each.name in options[1:]]
    if options == ["--asked"]:
        return [_module_of(harness).ASKED]
    return [each for each in program.scenarios if each.is_quick or "--quick" not in options]


def main() -> None:
    harness, version, folder, *options = sys.argv[1:]
    if _INSIDE not in os.environ:
        command = [*_NAMESPACES, sys.executable, "-m", "tests.wire.run", *sys.argv[1:]]
        os.execvpe("unshare", command, {**os.environ, _INSIDE: "1"})  # noqa: S606  the words are ours
    subprocess.run(["sh", "-c", _SET_UP], check=True)
    program, installed = program_of(harness, version), install(harness, version, cache_folder())
    for scenario in _scenarios(harness, program, options):
        began = time.monotonic()
        sent = _run(program, scenario, installed, Path(folder) / scenario.name)
        sys.stderr.write(f"  {scenario.name}: {sent} requests, {time.monotonic() - began:.0f} s\n")


def _run(program: Program, scenario: Scenario, installed: Installed, folder: Path) -> int:
    for old in (*ROOT.iterdir(), folder):
        shutil.rmtree(old, ignore_errors=True)
    for new in (HOME, PROJECT, ROOT / "tmp", folder):
        new.mkdir(parents=True)
    for name, content in {**program.files, **scenario.files}.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    box = Box(installed, {**program.environment, **scenario.environment}, folder / "log.txt")
    with ModelServer(scenario.rules, factor=scenario.factor, port=PORT) as model:
        scenario.run(box)
        time.sleep(_LAST_WRITES)
    for pattern in program.sessions:
        for path in sorted(filter(Path.is_file, ROOT.glob(pattern))):
            _keep(path, folder / "sessions" / path.relative_to(HOME))
    with (folder / "requests.jsonl").open("w") as lines:
        for request, rule, answer in model.answered:
            kept = {"number": request.number, "rule": rule, "answer": answer, "api": request.api}
            lines.write(json.dumps({**kept, "body": request.body}, ensure_ascii=False) + "\n")
    return len(model.answered)


def _keep(path: Path, target: Path) -> None:
    """Copy a session file; of a database, the rows of its tables as JSON lines, and of a tree its files."""
    if TREE in path.parts:
        above = len(target.parts) - target.parts.index(TREE)
        tree = target.parents[above - 2].with_suffix(".jsonl")
        tree.parent.mkdir(parents=True, exist_ok=True)
        file = {"path": str(Path(*path.parts[-above + 1 :])), "data": json.loads(path.read_bytes())}
        with tree.open("a") as lines:
            lines.write(json.dumps(file, ensure_ascii=False) + "\n")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".db":
        shutil.copy(path, target)
        return
    with closing(connect(path)) as database, target.with_suffix(".jsonl").open("w") as lines:
        database.row_factory = Row
        named = {row["name"] for row in database.execute("select name from sqlite_master")}
        for table in filter(named.__contains__, ("session", "message", "part", "event")):
            for row in database.execute(f"select * from {table} order by rowid"):  # noqa: S608  ours
                lines.write(json.dumps({"table": table, **dict(row)}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
