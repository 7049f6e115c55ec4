"""A person's settings of automatic compaction, in a TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from compaction.maintaining.settings import Settings
from compaction.part import Limits
from compaction.validation import Fault, FaultyInputError, Keys, check, where
from eventstore.errors import BadInputError

_ADVICE: Final = "docs/policies.md names the settings"
_CAPITAL: Final = re.compile("(?<=[a-z])(?=[A-Z])")


def settings_in(path: str, limits: Limits | None = None) -> Settings:
    """The settings of a file, for a model if one is told.

    Raises BadInputError, which names the file; FaultyInputError tells each key that is wrong.
    """
    try:
        given = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BadInputError(path, str(error.strerror), "name a TOML file with settings") from None
    except ValueError as error:
        raise BadInputError(path, f"is no TOML ({error})", _ADVICE) from None
    return settings_of(given, path, limits)


def settings_of(given: Mapping[str, Any], source: str, limits: Limits | None = None) -> Settings:
    """Settings of automatic compaction, by their names here or as their harness has them: `reserveTokens`.

    Raises FaultyInputError, which tells each key that is wrong, or that a model cannot have, as it is written.
    """
    written: dict[str, list[str]] = {}
    named = _by_our_names(given, written)
    again = [(key, first) for first, *others in written.values() for key in others]
    twice = [Fault(key, f"it sets what {first} sets", "leave one out") for key, first in again]
    wrong, settings = check(named, Settings), Settings()
    if not wrong:
        settings = msgspec.convert(named, Settings)
        wrong = settings.misfits(limits) if limits else []
    told = [msgspec.structs.replace(each, where=written.get(each.where, [each.where])[-1]) for each in wrong]
    if twice or told:
        raise FaultyInputError(source, [*twice, *told])
    return settings


def _by_our_names(
    given: Mapping[str, Any], written: dict[str, list[str]], ours: Keys = (), theirs: Keys = ()
) -> dict[str, Any]:
    """A table by our names of its keys; `written` gets for where each would stand by them where it stands."""
    named: dict[str, Any] = {}
    for key, value in given.items():
        name = _CAPITAL.sub("_", key).lower()
        our, their = (*ours, name), (*theirs, key)
        written.setdefault(where(our), []).append(where(their))
        named[name] = _by_our_names(value, written, our, their) if isinstance(value, dict) else value
    return named
