"""Load policies from presets and TOML files; report every problem at once."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from compaction.part import PolicyPart
from compaction.policy.model import Policy, Prompting
from compaction.validation import InvalidInputError, ValidationIssue, key_path, one_of, validate
from eventstore.errors import BadInputError, NotFoundError

SUFFIX: Final = ".toml"
_PRESETS: Final = files("compaction.policy") / "presets"


def preset_names() -> list[str]:
    """Return the names of the built-in policies."""
    names = (file.name for file in _PRESETS.iterdir() if file.name.endswith(SUFFIX))
    return sorted(name.removesuffix(SUFFIX) for name in names)


def preset_text(name: str) -> str:
    """Return the file of a built-in policy."""
    return (_PRESETS / f"{name}{SUFFIX}").read_text("utf-8")


_EXTENDS: Final = "extends"
_PART: Final = "part"
_NONE: Final = "none"
_DISPENSABLE: Final = {field.name for field in msgspec.structs.fields(Policy) if field.default is None}
"""The optional parts of a policy. Lists are emptied by `[]`."""
_USUAL: Final = {
    field.name: field.default.__struct_config__.tag
    for field in msgspec.structs.fields(Policy)
    if isinstance(field.default, PolicyPart)
}
"""The default part of a table that does not name one."""


class InvalidPolicyError(InvalidInputError):
    """A text is not a valid policy; `prompting` is the valid rest of its prompting table."""

    def __init__(self, source: str, issues: Sequence[ValidationIssue], prompting: Prompting) -> None:
        super().__init__(f"policy {source}", issues)
        self.prompting = prompting


class _Written(Policy, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy as written in TOML, with the preset that it extends."""

    extends: Annotated[str, msgspec.Meta(extra=one_of("preset", preset_names()))] | None = None


def parse_policy(text: str, *, source: str) -> Policy:
    """Parse the TOML text of a policy.

    With `extends = "NAME"`, start from that preset and override the keys of the text, under a new name.
    "none" removes an optional part. Raises BadInputError for invalid TOML, InvalidPolicyError for other
    problems.
    """
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInputError(f"policy {source}", str(error), "correct the TOML") from None
    settings = {key: _meant(key, value) for key, value in given.items()}
    extended = given.get(_EXTENDS)
    if extended in preset_names():
        preset = tomllib.loads(preset_text(extended))
        del preset["name"]
        settings = {**preset, **settings}
    found = validate(settings, _Written)
    if isinstance(found, list):
        raise InvalidPolicyError(source, found, _sound_prompting(settings, found))
    settings.pop(_EXTENDS, None)
    return msgspec.convert(settings, Policy)


def load_policy_file(path: str | Path) -> Policy:
    """Load a policy from a TOML file. Raises as `parse_policy` does.

    Raises BadInputError for a file that cannot be read.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadInputError(str(path), reason, "name a TOML file with a policy") from None
    return parse_policy(text, source=str(path))


def _sound_prompting(settings: Mapping[str, Any], found: Sequence[ValidationIssue]) -> Prompting:
    """Return a policy's prompting table without the keys in which issues were found."""
    table = settings.get("prompting")
    given = table if isinstance(table, dict) else {}
    wrong = {issue.where.partition(", number ")[0] for issue in found}
    sound = {key: value for key, value in given.items() if key_path(("prompting", key)) not in wrong}
    return msgspec.convert(sound, Prompting)


def _meant(name: str, value: Any) -> Any:
    """Return a key's value: None for "none", the default part for a table that names none."""
    if name in _USUAL and isinstance(value, dict):
        return {_PART: _USUAL[name], **value}
    return None if value == _NONE and name in _DISPENSABLE else value


def find_policy(name: str, folders: Sequence[Path] = ()) -> Policy:
    """Return a policy from `NAME.toml` in the first folder that has it, else the built-in one.

    Raises NotFoundError, and BadInputError for a broken policy or one that names itself differently.
    """
    for folder in folders:
        file = folder / f"{name}{SUFFIX}"
        if Path(name).name == name and file.is_file():
            policy = load_policy_file(file)
            if policy.name != name:
                problem, advice = f"it calls itself {policy.name!r}", f'write name = "{name}" there'
                raise BadInputError(f"policy {file}", problem, advice)
            return policy
    if name not in preset_names():
        raise _unknown_policy(name, {*preset_names(), *_names_in(folders)})
    return load_preset(name)


def load_preset(name: str) -> Policy:
    """Return a built-in policy. Raises NotFoundError."""
    if name not in preset_names():
        raise _unknown_policy(name, preset_names())
    return parse_policy(preset_text(name), source=f"preset {name}")


def _names_in(folders: Iterable[Path]) -> list[str]:
    return [file.stem for folder in folders for file in folder.glob(f"*{SUFFIX}") if file.is_file()]


def _unknown_policy(name: str, names: Iterable[str]) -> NotFoundError:
    close = get_close_matches(name, known := sorted(names), 1)
    meant = f"; did you mean {close[0]}?" if close else ""
    return NotFoundError("policy", name, f"there are: {', '.join(known)}; or give a TOML file{meant}")
