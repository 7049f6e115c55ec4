"""Golden files: everything that each command prints in its scenes, as a transcript to read and to compare.

    python -m tests.cli.golden [COMMAND...]

plays the scenes of these commands (of all, if none is named) and writes `tests/cli/golden/COMMAND.txt` anew.
Values that differ between runs have a fixed form there: clock, new ids, folders, ports, the version.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from tests.cli.running import UNWANTED, Refold
from tests.support.messages_api import MessagesApi

FOLDER: Final = Path(__file__).parent
CLOCK: Final = 1_767_225_600_000
"""2026-01-01T00:00:00Z, in epoch milliseconds: now, in every scene."""
_LONG: Final = 12
"""A file of more lines is told by their number."""
API: Final = "http://api.test"
"""The form in which a scene writes the address of its server."""


@dataclass(frozen=True)
class Run:
    """A command line, with what it reads, what its environment sets, and what of the program is replaced."""

    line: str
    stdin: str | bytes = ""
    env: dict[str, str] = field(default_factory=dict)
    patch: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class File:
    """A file that is written before the commands after it run."""

    name: str
    content: str | bytes


CHANGING: Final = {
    r"(refold, version|genai-prices) [\w.+-]+": r"\1 VERSION",
    r"(refold-demo-)\w+": r"\1XXXX",
    # As large as the pages of this machine's memory make it, or as a page about a session happens to be.
    r"[\d,]+( bytes on disk)(?: \([^)]+\))?, [\d,]+( of them free)": r"N\1, N\2",
    r"(copy|\.html)  [\d,]+ bytes": r"\1  N bytes",
    # As this release of msgspec says it.
    r"Invalid UTF-8 encoded string|'utf-8' codec can't decode byte 0x(\w+) in position \d+: [\w ]+": "no UTF-8",
}
"""Patterns of text that differs between runs or machines, with their replacements."""

Step = str | Run | File | Callable[[Refold], object]
"""A command line, a file, or anything else that happens; a function is shown by its name and what it gives."""


@dataclass(frozen=True)
class Scene:
    """Steps from a prepared store on; a scene with replies has a server that gives them in turn."""

    setup: Callable[[Refold], object]
    steps: Sequence[Step]
    replies: Sequence[Callable[..., object]] = ()


def golden_file(name: str) -> Path:
    return FOLDER / f"{name}.txt"


def transcript(
    scenes: Sequence[Scene],
    *,
    columns: int | None = None,
    changing: Mapping[str, str] = CHANGING,
    new_store: Callable[[], str] | None = None,
) -> str:
    """Play scenes, each in the folder that its setup made; a setup is run once and copied.

    With `columns`, each command prints to a terminal of so many. With `new_store`, which returns an address, each
    scene has a store there in place of a folder.
    """
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        _settle(patch, home)
        played = [line for scene in scenes for line in ("", *_play(scene, home, columns, new_store))]
    text = "\n".join(line.rstrip() for line in played[1:]) + "\n"
    for found, fixed in changing.items():
        text = re.sub(found, fixed, text)
    return text.replace(str(home), "/home")


def _settle(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Let nothing of this machine, this hour or its user be seen."""
    for name in {*UNWANTED, "REFOLD_SUMMARIZER_ENDPOINT"}:
        patch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        patch.delenv(name)
    patch.setenv("NO_PROXY", "127.0.0.1")
    # A fault of refold ends the script with its traceback.
    patch.setenv("REFOLD_TRACEBACK", "1")
    patch.setattr("eventstore.workers.cores", lambda: 1)
    patch.setattr("eventstore.event.time", SimpleNamespace(time_ns=lambda: CLOCK * 1_000_000))
    (home / "temp").mkdir()
    patch.setattr("tempfile.tempdir", str(home / "temp"))


@contextmanager
def _numbered_ids() -> Iterator[None]:
    """Make new ids 00000001, 00000002, … in each scene anew."""
    with pytest.MonkeyPatch.context() as patch:
        ids = count(1)
        patch.setattr(
            "eventstore.event.os", SimpleNamespace(urandom=lambda size: next(ids).to_bytes(size, "big"))
        )
        yield


def _play(
    scene: Scene, home: Path, columns: int | None, new_store: Callable[[], str] | None
) -> Iterator[str]:
    work, made = home / "example", home / scene.setup.__name__
    # By a relative path, so that no table is as wide as this machine's folder for temporary files.
    refold = Refold(Path("store"))
    address = refold.store = new_store() if new_store else refold.store
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        shutil.rmtree(work, ignore_errors=True)
        if made.exists() and not new_store:
            shutil.copytree(made, work, symlinks=True)
        else:
            work.mkdir()
            patch.chdir(work)
            with _numbered_ids():
                scene.setup(refold)
            if not new_store:
                shutil.copytree(work, made, symlinks=True)
        patch.chdir(work)
        stack.enter_context(_numbered_ids())
        server = stack.enter_context(MessagesApi(*scene.replies)) if scene.replies else None
        refold.columns = columns
        yield f"# {scene.setup.__name__.replace('_', ' ')}"
        for step in scene.steps:
            for line in _step(step, refold, server.url if server else API):
                yield line.replace(str(address), "store")


def _step(step: Step, refold: Refold, url: str) -> Iterator[str]:
    if isinstance(step, File):
        content = step.content.encode() if isinstance(step.content, str) else step.content
        path = Path(step.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        shown = list(_readable(content))
        yield f"# {step.name}: {len(shown)} lines" if len(shown) > _LONG else f"# {step.name}:"
        yield from (f"#   {line}" for line in shown[: 0 if len(shown) > _LONG else None])
    elif isinstance(step, str | Run):
        yield from (
            line.replace(url, API) for line in _run(Run(step) if isinstance(step, str) else step, refold, url)
        )
    else:
        told = step(refold)
        yield f"# {step.__name__.replace('_', ' ')}"  # type: ignore[attr-defined]
        yield from (f"#   {line}" for line in str(told or "").splitlines())


def _run(run: Run, refold: Refold, url: str) -> Iterator[str]:
    given = run.stdin.encode() if isinstance(run.stdin, str) else run.stdin
    with pytest.MonkeyPatch.context() as patch:
        for name, value in run.env.items():
            patch.setenv(name, value.replace(API, url))
        for name, replacement in run.patch.items():
            patch.setattr(name, replacement)
        outcome = refold(*shlex.split(run.line.replace(API, url)), code=None, stdin=given)
    yield " ".join(
        ["$", *(f"{name}={value}" for name, value in run.env.items()), "refold", run.line]
    ).rstrip()
    yield from (f"< {line}" for line in _readable(given))
    yield from outcome.out.splitlines()
    yield from (f"! {line}" for line in outcome.errors.splitlines())
    if outcome.code:
        yield f"exit {outcome.code}"


def _readable(content: bytes) -> Iterator[str]:
    """The lines of a file or an input, long ones cut, bytes that are no text escaped."""
    for line in content.decode("utf-8", "backslashreplace").splitlines():
        shown = _escaped(line)
        yield shown if len(shown) <= 110 else f"{shown[:109]}…"


def _escaped(text: str) -> str:
    return text.replace("\x1b", "\\x1b").replace("\n", "\\n")


def write(scenes: Mapping[str, Sequence[Scene]], names: Sequence[str]) -> None:
    """Write the golden files of these commands anew, of all if none is named."""
    for name in names or scenes:
        golden_file(name).write_text(transcript(scenes[name]), "utf-8")
