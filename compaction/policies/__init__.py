"""Policies: presets that come with refold, and a person's own, in TOML.

Adding a preset: a file in `presets`, its docs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec

from compaction.policies.checks import warnings
from compaction.policies.policy import Continuation, Placement, Policy, Prompting, Restoring
from eventstore.errors import BadInputError, NotFoundError

__all__ = [
    "Continuation",
    "Placement",
    "Policy",
    "Prompting",
    "Restoring",
    "find",
    "parse",
    "policy_of_file",
    "preset",
    "preset_names",
    "warnings",
]

_PRESETS: Final = files("compaction.policies") / "presets"
SUFFIX: Final = ".toml"
_EXTENDS: Final = "extends"


def find(name: str, folders: Iterable[Path] = ()) -> Policy:
    """The policy of the first folder that has it, as `NAME.toml`, else the one that comes with refold.

    Raises NotFoundError, and BadInputError for one that is broken, or goes by another name inside.
    """
    for folder in folders:
        file = folder / f"{name}{SUFFIX}"
        if Path(name).name == name and file.is_file():
            policy = policy_of_file(file)
            if policy.name != name:
                raise _bad(str(file), f"it calls itself {policy.name!r}", f'write name = "{name}" there')
            return policy
    return preset(name)


def preset_names() -> list[str]:
    """The names of the policies that come with refold."""
    names = (file.name for file in _PRESETS.iterdir() if file.name.endswith(SUFFIX))
    return sorted(name.removesuffix(SUFFIX) for name in names)


def preset(name: str) -> Policy:
    """A policy that comes with refold. Raises NotFoundError."""
    if name not in preset_names():
        raise NotFoundError("policy", name, f"there are: {', '.join(preset_names())}; or give a TOML file")
    return parse(_text_of(name), source=f"preset {name}")


def policy_of_file(path: str | Path) -> Policy:
    """The policy of a TOML file. Raises BadInputError."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadInputError(str(path), reason, "name a TOML file with a policy") from None
    return parse(text, source=str(path))


def parse(text: str, *, source: str) -> Policy:
    """The policy of a TOML text.

    With `extends = "NAME"` it is that preset, but for the keys that the text has; "none" takes out a part that a
    policy can do without. Raises BadInputError, which names the key that is wrong.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _bad(source, str(error), "correct the TOML") from None
    extended = given.pop(_EXTENDS, None)
    if extended is not None:
        if extended not in preset_names():
            raise _bad(source, f"extends {extended!r}", f"extend one of {', '.join(preset_names())}")
        given = {**tomllib.loads(_text_of(extended)), **given}
    try:
        return msgspec.convert({name: _meant(name, value) for name, value in given.items()}, Policy)
    except msgspec.ValidationError as error:
        raise _bad(source, str(error).replace("Object", "The policy"), _ADVICE) from None


def _meant(name: str, value: Any) -> Any:
    """What a key is set to; TOML has no word of its own for nothing."""
    return None if value == _NONE and name in _DISPENSABLE else value


_NONE: Final = "none"
_DISPENSABLE: Final = {field.name for field in msgspec.structs.fields(Policy) if field.default is None}
"""The parts that a policy can do without. Lists are emptied: `[]`."""
_ADVICE: Final = "see 'refold policies show oh-my-pi' for the keys there are"


def _text_of(name: str) -> str:
    return (_PRESETS / f"{name}{SUFFIX}").read_text("utf-8")


def _bad(source: str, problem: Any, advice: str) -> BadInputError:
    return BadInputError(f"policy {source}", str(problem), advice)
