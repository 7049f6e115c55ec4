"""The scenes of the golden files: a module for each command, named as its module in `cli.commands`.

A scene runs commands on a prepared store, for their words to be held; `refold` has those of no command.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from cli.main import COMMANDS
from tests.cli.golden import Scene

_MODULES: Final = {"refold": "refold", **{name: module for name, (module, _) in COMMANDS.items()}}

SCENES: Final[dict[str, Sequence[Scene]]] = {
    name: import_module(f"{__name__}.{module}").SCENES for name, module in _MODULES.items()
}
"""From commands to their scenes, in the order of `refold --help`."""
