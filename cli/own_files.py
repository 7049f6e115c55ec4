"""A person's own policies and templates: files in a folder for settings, each known by its name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

FOLDER: Final = "REFOLD_CONFIG"
"""The environment's name for the folder that holds the folders `policies` and `templates`."""


class OwnFiles:
    """The files of one kind: those of a folder's folder with a suffix, by their names without it."""

    def __init__(self, folder: str, suffix: str) -> None:
        self._folder, self._suffix = folder, suffix

    @property
    def folder(self) -> Path:
        """Where they are: in the folder that `REFOLD_CONFIG` names, else in the platform's for settings."""
        import platformdirs

        return Path(os.environ.get(FOLDER) or platformdirs.user_config_dir("refold"), self._folder)

    def names(self) -> list[str]:
        """Their names, sorted."""
        return sorted(file.stem for file in self.folder.glob(f"*{self._suffix}") if file.is_file())

    def find(self, name: str) -> Path | None:
        """The file of a name, None where there is none."""
        file = self.folder / f"{name}{self._suffix}"
        return file if Path(name).name == name and file.is_file() else None

    def is_path(self, name: str) -> bool:
        """Whether what a person gives as a name is the path of a file."""
        return os.sep in name or name.endswith(self._suffix)

    def add(self, name: str, text: str) -> Path:
        """A new file. Raises BadInputError for one that is there, or a name that no file should have."""
        from eventstore.errors import BadInputError

        if not name or Path(name).name != name or name.startswith(".") or not name.isprintable():
            raise BadInputError(repr(name), "is no name for a file", "choose letters, digits and dashes")
        file = self.folder / f"{name}{self._suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except FileExistsError:
            raise BadInputError(str(file), "is there already", "edit it, or remove it first") from None
        return file


POLICIES: Final = OwnFiles("policies", ".toml")
TEMPLATES: Final = OwnFiles("templates", ".md")
