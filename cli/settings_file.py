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
_UNKNOWN: Final = re.compile(r"unknown field `(\w+)`")
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
    """Settings of automatic compaction. Raises BadInputError, which names the key that is wrong."""
    try:
        return msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        problem = str(error).removeprefix("Object ")
        raise BadInputError(source, problem, _advice(problem)) from None


def _advice(problem: str) -> str:
    """What to do; who writes a setting as its harness does is told its name here."""
    unknown = _UNKNOWN.search(problem)
    name = _CAPITAL.sub("_", unknown[1]).lower() if unknown else ""
    is_known = name in Settings.__struct_fields__
    return f"it is called {name} here" if is_known else _ADVICE
