"""Install pinned releases of the programs from npm, each in a folder of its own inside a cache.

The cache is the folder that `REFOLD_WIRE_CACHE` names, or a temporary one. npm runs no install script; the two packages
that need theirs are set up here, by name. This is the only step that needs a network.
"""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

CACHE: Final = "REFOLD_WIRE_CACHE"


class Package(NamedTuple):
    """A package of npm: its name, its set-up script ("" for none), and its program in node_modules."""

    name: str
    setup: str
    start: str


_MACHINE: Final = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"
# With an old Node, npm silently installs old releases, so a new one comes from npm as well.
NODE: Final = Package(f"node-linux-{_MACHINE}", "", f"node-linux-{_MACHINE}/bin/node")
_BUN: Final = f"@oven/bun-linux-{_MACHINE.replace('arm', 'aarch')}"
BUN: Final = Package(_BUN, "", f"{_BUN}/bin/bun")
TOOLS: Final = ((NODE, "24.21.0"), (BUN, "1.4.5"))

_PI: Final = Package("@earendil-works/pi-coding-agent", "", "@earendil-works/pi-coding-agent/dist/cli.js")
_EARLY_PI: Final = Package("@mariozechner/pi-coding-agent", "", "@mariozechner/pi-coding-agent/dist/cli.js")
PACKAGES: Final = {
    "claude-code": Package("@anthropic-ai/claude-code", "install.cjs", ".bin/claude"),
    "pi": _PI,
    "oh-my-pi": Package("@oh-my-pi/pi-coding-agent", "", "@oh-my-pi/pi-coding-agent/src/cli.ts"),
    "codex": Package("@openai/codex", "", ".bin/codex"),
    "opencode": Package("opencode-ai", "postinstall.mjs", ".bin/opencode"),
}
RELEASES: Final = {
    "codex": ("0.169.0", "0.171.0"),
    "claude-code": ("2.1.114", "2.1.170", "2.1.219", "2.1.332"),
    "pi": ("0.73.1", "0.87.1", "1.6.0"),
    "opencode": ("1.1.65", "1.2.27", "1.18.33"),
    "oh-my-pi": ("18.2.3",),
}
"""The releases that docs/checks.md shows, oldest first; the programs that start quickly come first."""


class InstallError(Exception):
    """A package that npm did not install, or that lacks the file which starts it."""


class Installed(NamedTuple):
    """An installed program: the words that start it, and the folders of its interpreters."""

    command: tuple[str, ...]
    path: tuple[str, ...]


def cache_folder() -> Path:
    """Return the folder of installed programs: the environment's, or a new temporary one."""
    named = os.environ.get(CACHE)
    folder = Path(named or tempfile.mkdtemp(prefix="refold-wire-"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def install(harness: str, version: str, cache: Path) -> Installed:
    """Install a program and its interpreter. Raises `InstallError`."""
    node, bun = (_get(package, number, cache, ()) for package, number in TOOLS)
    path = (str(node.parent), str(bun.parent))
    package = PACKAGES[harness]
    if harness == "pi" and version.startswith(("0.72.", "0.73.")):
        package = _EARLY_PI
    start = _get(package, version, cache, path)
    before = {"pi": (str(node),), "oh-my-pi": (str(bun),)}.get(harness, ())
    return Installed((*before, str(start)), path)


def _get(package: Package, version: str, cache: Path, path: tuple[str, ...]) -> Path:
    folder = cache / f"{package.name.replace('/', '-').strip('@')}-{version}"
    modules = folder / "node_modules"
    start = modules / package.start
    if (folder / "installed").exists():
        return start
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    searched = os.pathsep.join((*path, os.environ["PATH"]))
    env = {**os.environ, "PATH": searched, "npm_config_cache": str(cache / "npm")}
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1")
    _run(["npm", "install", *options, f"{package.name}@{version}"], folder, env)
    if package.setup:
        _run(["node", str(modules / package.name / package.setup)], folder, env)
    if not start.exists():
        raise InstallError(f"{package.name} {version} has no {package.start}")
    (folder / "installed").touch()
    return start


def _run(command: list[str], folder: Path, env: dict[str, str]) -> None:
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise InstallError(f"{' '.join(command)}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
