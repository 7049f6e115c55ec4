"""Write facts as lines, and list paths by folder, as in `src/core/: a.ts, b.ts`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from projections.mentions.path_names import PathIndex, split_path


class FactKind(StrEnum):
    """The kind of a fact."""

    GOAL = "goal"
    """The newest request, and the first."""
    RULE = "rule"
    """An order, prohibition or preference of the person."""
    REQUEST = "request"
    """Another request."""
    DONE = "done"
    """The result of a turn."""
    CHANGED = "changed"
    """A file that was written or edited."""
    DOING = "doing"
    """The state of an unfinished turn."""
    FAILING = "failing"
    """A command that failed when it last ran."""
    DECISION = "decision"
    """A choice, and the alternative."""
    PLAN = "plan"
    """A next step."""
    QUESTION = "question"
    """A question that the person has not answered."""
    NOTE = "note"
    """Other lines of an earlier summary."""
    FILE = "file"
    """A file that was read or mentioned."""
    COMMAND = "command"
    """A command with its outcome."""
    ERROR = "error"
    """An error, with the number of similar ones."""
    NAME = "name"
    """A name in code, an address, an identifier."""


class Fact(msgspec.Struct, frozen=True):
    """A line of text, or an item of the list after `head`.

    `place` is its place among facts of its kind. `thing` is what it names if it does nothing else; then
    another line that names the same makes it redundant.
    """

    text: str
    place: int = 0
    head: str = ""
    thing: str = ""


GO_ON: Final = "go on with what is in progress"
AT_FIRST: Final = "at first: "
BEFORE: Final = "before: "
QUESTION: Final = "open question: "
FAILED: Final = "failed"
OK: Final = "ok"
CHANGED: Final = " (changed)"
FILES: Final = "files"
NAMES: Final = "names"
"""Texts that identify lines when a summary is updated."""


def one_line(text: str, most: int = 0) -> str:
    """Collapse white space in a text and limit it to `most` characters (0: no limit)."""
    line = " ".join(text.split())
    return line if not most or len(line) <= most else line[: most - 1].rstrip() + "…"


def rank_in_order(texts: Iterable[str]) -> list[Fact]:
    """Return facts of distinct nonempty texts, most important first."""
    return [Fact(text, place) for place, text in enumerate(dict.fromkeys(filter(None, texts)))]


def rank_newest_first(texts: Iterable[str]) -> list[Fact]:
    """Return facts of distinct texts in order of time, newest most important."""
    return rank_in_order(texts)[::-1]


_HERE: Final = "./"
"""Stands for the root folder in listed paths."""
_ROOT: Final = ". is "
_LIST: Final = re.compile(
    r"(?P<folder>\S*/): (?P<names>[^\s,]+(?: \(changed\))?(?:, [^\s,]+(?: \(changed\))?)*)"
)
_UNLISTED: Final = re.compile(r"[\s,]")
"""Characters that keep a path out of lists, so that lists can be parsed again."""
_NO_NAME: Final = re.compile(r"[./~]*")


class SplitPath(NamedTuple):
    """A path's folder with its slash, "" for none, and the rest."""

    folder: str
    rest: str


class FolderIndex:
    """Split paths into folders and short, unambiguous names; `known` are all mentioned paths.

    A folder is written in its longest form. `root` is the folder that `./` stands for, "" if that saves
    nothing: the folder that shortens most, of those that contain most of the absolute paths.
    """

    def __init__(self, paths: Sequence[str], known: PathIndex) -> None:
        self._known = known
        self._parts = {path: self._parted(path) for path in paths}
        folders = [self._parts[path].folder for path in paths]
        self._folders = PathIndex(dict.fromkeys(folders))
        self._wholes: dict[str, str] = {}
        self.root = _root([self._whole(folder) for folder in folders])

    def split(self, path: str) -> SplitPath:
        """Split a path so that the rest is unique among the known paths.

        That is the file's name if no other path has it, else the name with its own folder, and with as many
        folders above as it takes.
        """
        folder, rest = self._parts.get(path) or self._parted(path)
        whole = self._whole(folder)
        is_inside = self.root and whole.startswith(self.root)
        return SplitPath(_HERE + whole[len(self.root) :] if is_inside else whole, rest)

    def _parted(self, path: str) -> SplitPath:
        path = one_line(path).rstrip("/")
        if _UNLISTED.search(path):
            return SplitPath("", path)
        names = split_path(path)
        slash = path.rfind("/")
        # A name without an extension may well be an ordinary word.
        if not (names and "." in names[-1] and self._known.is_unambiguous(names)):
            lengths = range(2, len(names) + 1)
            unique = (length for length in lengths if self._known.is_unambiguous(names, names[-length:]))
            for _ in range(next(unique, 2) - 1):
                slash = path.rfind("/", 0, max(slash, 0))
        return SplitPath(path[: slash + 1], path[slash + 1 :])

    def _whole(self, folder: str) -> str:
        whole = self._wholes.get(folder)
        if whole is None:
            is_none = _NO_NAME.fullmatch(folder) is not None
            whole = folder if is_none else self._folders.longest_form(folder).rstrip("/") + "/"
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


def render_root(root: str) -> str:
    """Return the line that explains `./`, "" for no root."""
    return _ROOT + root if root else ""


def parse_root(line: str) -> str:
    """Return the root that a line explains, "" for any other line."""
    return line.removeprefix(_ROOT) if line.startswith(f"{_ROOT}/") else ""


def strip_root(path: str, root: str) -> str:
    """Replace a leading `./` in a path by the root."""
    return root + path.removeprefix(_HERE) if root and path.startswith(_HERE) else path


def split_list(line: str) -> list[str]:
    """Return the paths of a line that lists them by folder, none for any other line."""
    found = _LIST.fullmatch(line)
    return [found["folder"] + name for name in found["names"].split(", ")] if found else []
