"""Policies as texts of TOML: what one says, and everything that is wrong with one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from compaction.faults import Fault, faults
from compaction.policies.built_in import preset_names, preset_text
from compaction.policies.policy import Policy, Prompting
from eventstore.errors import BadInputError

_EXTENDS: Final = "extends"
_NONE: Final = "none"
_DISPENSABLE: Final = {field.name for field in msgspec.structs.fields(Policy) if field.default is None}
"""The parts that a policy can do without. Lists are emptied: `[]`."""
_NAMES: Final = frozenset({"template", "update", "turn_prefix", "short", "summarizer"})


class FaultyPolicyError(BadInputError):
    """A text is no policy, or one that cannot be followed.

    `faults` are all that is wrong with it, `prompting` what of its prompting is not; the message tells the first
    fault, and how many more there are.
    """

    def __init__(self, source: str, found: Sequence[Fault], prompting: Prompting | None = None) -> None:
        self.faults, self.prompting = tuple(found), prompting or Prompting()
        first, *others = found
        more = f" (and {len(others)} more: see 'refold policies check')" if others else ""
        super().__init__(f"policy {source}", first.said, f"{first.remedy}{more}")


def parse(text: str, *, source: str) -> Policy:
    """The policy of a TOML text.

    With `extends = "NAME"` it is that preset, but for the keys that the text has; "none" takes out a part that a
    policy can do without. Raises BadInputError for what is no TOML, FaultyPolicyError for all else.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"policy {source}", str(error), "correct the TOML") from None
    extended = given.pop(_EXTENDS, None)
    base = tomllib.loads(preset_text(extended)) if extended in preset_names() else {}
    said = {**base, **{name: _meant(name, value) for name, value in given.items()}}
    try:
        policy = msgspec.convert(said, Policy)
    except msgspec.ValidationError as error:
        found = faults(said, Policy) or [Fault("", str(error), "correct it")]
        raise FaultyPolicyError(source, [*_of_extended(extended), *found], _sound(said)) from None
    if wrong := _of_extended(extended):
        raise FaultyPolicyError(source, wrong, policy.prompting)
    return policy


def policy_of_file(path: str | Path) -> Policy:
    """The policy of a TOML file. Raises as `parse` does, and BadInputError for a file that cannot be read."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadInputError(str(path), reason, "name a TOML file with a policy") from None
    return parse(text, source=str(path))


def _of_extended(extended: Any) -> list[Fault]:
    if extended is None or extended in preset_names():
        return []
    return [Fault(_EXTENDS, f"it is {extended!r}", f"give one of {', '.join(preset_names())}")]


def _sound(said: Mapping[str, Any]) -> Prompting:
    """The names that a policy's prompting has, whatever else is wrong with it."""
    table = said.get("prompting")
    given = table.items() if isinstance(table, dict) else ()
    names = {key: value for key, value in given if key in _NAMES and isinstance(value, str)}
    return msgspec.convert(names, Prompting)


def _meant(name: str, value: Any) -> Any:
    """What a key is set to; TOML has no word of its own for nothing."""
    return None if value == _NONE and name in _DISPENSABLE else value
