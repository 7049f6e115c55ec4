"""A person's settings of automatic compaction, in a TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from compaction.maintaining import Settings
from eventstore.errors import BadInputError

_ADVICE: Final = "docs/policies.md names the settings"
_CAPITAL: Final = re.compile("(?<=[a-z])(?=[A-Z])")


def settings_in(path: str) -> Settings:
    """The settings of a file. Raises BadInputError, which names the file, and the key that is wrong."""
    try:
        given = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BadInputError(path, str(error.strerror), "name a TOML file with settings") from None
    except ValueError as error:
        raise BadInputError(path, f"is no TOML ({error})", _ADVICE) from None
    return settings_of(given, path)


def settings_of(given: Mapping[str, Any], source: str) -> Settings:
    """Settings of automatic compaction, by their names here or as their harness has them: `reserveTokens`.

    Raises BadInputError, which names the key that is wrong.
    """
    try:
        return msgspec.convert(_by_our_names(given, source), Settings)
    except msgspec.ValidationError as error:
        raise BadInputError(source, str(error).removeprefix("Object "), _ADVICE) from None


def _by_our_names(given: Mapping[str, Any], source: str) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for key, value in given.items():
        name = _CAPITAL.sub("_", key).lower()
        if name in named:
            raise BadInputError(source, f"sets `{name}` twice, the other time as `{key}`", "leave one out")
        named[name] = _by_our_names(value, source) if isinstance(value, dict) else value
    return named
