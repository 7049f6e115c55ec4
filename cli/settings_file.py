"""A person's settings of automatic compaction, in a TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from compaction.faults import faults
from compaction.maintaining import Settings
from compaction.part import Limits
from eventstore.errors import BadInputError

_ADVICE: Final = "docs/policies.md names the settings"
_CAPITAL: Final = re.compile("(?<=[a-z])(?=[A-Z])")


def settings_in(path: str, limits: Limits | None = None) -> Settings:
    """The settings of a file, for a model if one is told.

    Raises BadInputError, which names the file, and the key that is wrong.
    """
    try:
        given = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BadInputError(path, str(error.strerror), "name a TOML file with settings") from None
    except ValueError as error:
        raise BadInputError(path, f"is no TOML ({error})", _ADVICE) from None
    settings = settings_of(given, path)
    if limits is not None:
        settings.check(limits, source=path)
    return settings


def settings_of(given: Mapping[str, Any], source: str) -> Settings:
    """Settings of automatic compaction, by their names here or as their harness has them: `reserveTokens`.

    Raises BadInputError, which names the key that is wrong.
    """
    named = _by_our_names(given, source)
    for fault in faults(named, Settings):
        raise BadInputError(source, f"{fault.where}: {fault.problem}", fault.remedy)
    return msgspec.convert(named, Settings)


def _by_our_names(given: Mapping[str, Any], source: str) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for key, value in given.items():
        name = _CAPITAL.sub("_", key).lower()
        if name in named:
            raise BadInputError(source, f"sets `{name}` twice, the other time as `{key}`", "leave one out")
        named[name] = _by_our_names(value, source) if isinstance(value, dict) else value
    return named
