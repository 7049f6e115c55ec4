"""Policies: presets that come with refold, and a person's own, in TOML.

Adding a preset: a file in `presets`, its docs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from compaction.policies.built_in import SUFFIX, preset_names, preset_text
from compaction.policies.policy import Policy
from compaction.policies.reading import parse, policy_of_file
from eventstore.errors import BadInputError, NotFoundError


def find(name: str, folders: Sequence[Path] = ()) -> Policy:
    """The policy of the first folder that has it, as `NAME.toml`, else the one that comes with refold.

    Raises NotFoundError, and BadInputError for one that is broken, or goes by another name inside.
    """
    for folder in folders:
        file = folder / f"{name}{SUFFIX}"
        if Path(name).name == name and file.is_file():
            policy = policy_of_file(file)
            if policy.name != name:
                problem, advice = f"it calls itself {policy.name!r}", f'write name = "{name}" there'
                raise BadInputError(f"policy {file}", problem, advice)
            return policy
    if name not in preset_names():
        raise _not_there(name, {*preset_names(), *_names_in(folders)})
    return preset(name)


def preset(name: str) -> Policy:
    """A policy that comes with refold. Raises NotFoundError."""
    if name not in preset_names():
        raise _not_there(name, preset_names())
    return parse(preset_text(name), source=f"preset {name}")


def _names_in(folders: Iterable[Path]) -> list[str]:
    return [file.stem for folder in folders for file in folder.glob(f"*{SUFFIX}") if file.is_file()]


def _not_there(name: str, names: Iterable[str]) -> NotFoundError:
    return NotFoundError("policy", name, f"there are: {', '.join(sorted(names))}; or give a TOML file")
