"""The four tools of the demo's agent, at work on an imagined disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Disk = dict[str, str]
"""From paths to the texts of the imagined files."""


class Outcome(NamedTuple):
    """What a tool answers."""

    text: str
    is_error: bool = False


class Call(NamedTuple):
    """What a model asks of a tool, how the tool answers it on a disk, and after how many seconds."""

    name: str
    arguments: dict[str, Any]
    perform: Callable[[Disk], Outcome]
    seconds: int = 1


def read(path: str) -> Call:
    """Read a file as the disk has it at that moment."""
    return Call("read", {"path": path}, lambda disk: Outcome(disk[path]))


def write(path: str, text: str) -> Call:
    """Write a whole file."""

    def perform(disk: Disk) -> Outcome:
        disk[path] = text
        return Outcome(f"Wrote {len(text.splitlines())} lines to {path}.")

    return Call("write", {"path": path, "content": text}, perform)


def edit(path: str, old: str, new: str) -> Call:
    """Replace a text that stands once in a file; anything else is an error, and changes nothing."""

    def perform(disk: Disk) -> Outcome:
        count = disk[path].count(old)
        if count != 1:
            return Outcome(
                f"{path} holds the old text {count} times, not once; nothing was changed.", is_error=True
            )
        disk[path] = disk[path].replace(old, new)
        return Outcome(f"Changed {path}.")

    return Call("edit", {"path": path, "oldText": old, "newText": new}, perform)


def bash(command: str, output: str, *, exit_code: int = 0, seconds: int = 2) -> Call:
    """Run a command, which prints what the script says that it prints."""
    said = output.strip("\n") or "(no output)"
    if exit_code:
        said += f"\n\nCommand exited with code {exit_code}"
    return Call("bash", {"command": command}, lambda _: Outcome(said, exit_code != 0), seconds)
