"""The policies that come with refold, as texts."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

SUFFIX: Final = ".toml"
_PRESETS: Final = files("compaction.policies") / "presets"


def preset_names() -> list[str]:
    """The names of the policies that come with refold."""
    names = (file.name for file in _PRESETS.iterdir() if file.name.endswith(SUFFIX))
    return sorted(name.removesuffix(SUFFIX) for name in names)


def preset_text(name: str) -> str:
    """The file of a policy that comes with refold."""
    return (_PRESETS / f"{name}{SUFFIX}").read_text("utf-8")
