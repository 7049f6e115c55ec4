"""Paths by folder: `src/core/: a.ts, b.ts` says as much as each path by itself, in fewer words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from compaction.summarizers.gleaning.line import one_line
from projections.mentions.path_names import Paths, names_of

_HERE: Final = "./"
"""In place of the root."""
_ROOT: Final = ". is "
_LIST: Final = re.compile(
    r"(?P<folder>\S*/): (?P<names>[^\s,]+(?: \(changed\))?(?:, [^\s,]+(?: \(changed\))?)*)"
)
_UNLISTED: Final = re.compile(r"[\s,]")
"""In paths that are told whole, so that lists can be read again."""
_NO_NAME: Final = re.compile(r"[./~]*")


class Foldered(NamedTuple):
    """A path in two: the folder with a slash behind it, "" for none, and the rest."""

    folder: str
    rest: str


class Folders:
    """How some paths are told by folder; `known` are all that are spoken of.

    A folder in several forms is told in its longest. `root` is what `./` stands for, "" where nothing is
    gained: the folder that shortens most, of those that most of the absolute paths are in.
    """

    def __init__(self, paths: Sequence[str], known: Paths) -> None:
        self._known = known
        self._parts = {path: self._parted(path) for path in paths}
        folders = [self._parts[path].folder for path in paths]
        self._folders = Paths(dict.fromkeys(folders))
        self._wholes: dict[str, str] = {}
        self.root = _root([self._whole(folder) for folder in folders])

    def parted(self, path: str) -> Foldered:
        """A path in two, so that the rest alone tells it from all that are known.

        That is the name of the file if no other path has it, else the name with its own folder.
        """
        folder, rest = self._parts.get(path) or self._parted(path)
        whole = self._whole(folder)
        is_inside = self.root and whole.startswith(self.root)
        return Foldered(_HERE + whole[len(self.root) :] if is_inside else whole, rest)

    def _parted(self, path: str) -> Foldered:
        path = one_line(path).rstrip("/")
        if _UNLISTED.search(path):
            return Foldered("", path)
        names = names_of(path)
        slash = path.rfind("/")
        # A name with no extension is as like as not an ordinary word.
        if not (names and "." in names[-1] and self._known.alone(names)):
            slash = path.rfind("/", 0, max(slash, 0))
        return Foldered(path[: slash + 1], path[slash + 1 :])

    def _whole(self, folder: str) -> str:
        whole = self._wholes.get(folder)
        if whole is None:
            is_none = _NO_NAME.fullmatch(folder) is not None
            whole = folder if is_none else self._folders.whole(folder).rstrip("/") + "/"
            self._wholes[folder] = whole
        return whole


def _root(folders: Sequence[str]) -> str:
    absolute = [folder for folder in folders if folder.startswith("/")]
    held: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for folder, paths in Counter(absolute).items():
        above = [folder[: slash.end()] for slash in re.finditer("(?<!^)/", folder)]
        held.update(dict.fromkeys(above, paths))
        lines.update(above)
    roots = [root for root in held if 4 * held[root] >= 3 * len(absolute) and lines[root] > 1]
    return max(roots, key=lambda root: (lines[root] * len(root), root), default="")


def told_root(root: str) -> str:
    """The line that says what `./` stands for, "" for nothing."""
    return _ROOT + root if root else ""


def root_told(line: str) -> str:
    """What `./` stands for by a line, "" for a line that does not say so."""
    return line.removeprefix(_ROOT) if line.startswith(f"{_ROOT}/") else ""


def without_root(path: str, root: str) -> str:
    """A path as it was before it was told from a root."""
    return root + path.removeprefix(_HERE) if root and path.startswith(_HERE) else path


def unlisted(line: str) -> list[str]:
    """The paths of a line that tells them by folder, none for any other line."""
    found = _LIST.fullmatch(line)
    return [found["folder"] + name for name in found["names"].split(", ")] if found else []
