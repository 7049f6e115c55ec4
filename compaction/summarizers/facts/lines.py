"""Lines that tell a fact, and paths by folder: `src/core/: a.ts, b.ts` says as much in fewer words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from projections.mentions.path_names import PathIndex, split_path


class FactKind(StrEnum):
    """The sort of a line."""

    GOAL = "goal"
    """The newest request, and the first."""
    RULE = "rule"
    """An order, prohibition or preference of the person."""
    REQUEST = "request"
    """Another request."""
    DONE = "done"
    """The end of a turn."""
    CHANGED = "changed"
    """A file that was written or edited."""
    DOING = "doing"
    """The state of a turn that is not over."""
    FAILING = "failing"
    """A command that failed when it was last run."""
    DECISION = "decision"
    """A choice, and the alternative."""
    PLAN = "plan"
    """A next step."""
    QUESTION = "question"
    """A question that the person has not answered."""
    NOTE = "note"
    """Other lines of an earlier summary."""
    FILE = "file"
    """A file that was read or spoken of."""
    COMMAND = "command"
    """A command with its outcome."""
    ERROR = "error"
    """An error, with how many like it there were."""
    NAME = "name"
    """A name in code, an address, an identifier."""


class Fact(msgspec.Struct, frozen=True):
    """Something to tell: a text by itself, or behind a `head` on one line with all that has the same head.

    `place` is where it stands among the lines of its sort. `thing` is what it names, if it does no more than
    that: then it need not be told where another line names the same.
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
"""Texts by which lines are known again when a summary is brought up to date."""


def one_line(text: str, most: int = 0) -> str:
    """Return a text as one line, white space collapsed, of at most so many characters (0: as many as there are)."""
    line = " ".join(text.split())
    return line if not most or len(line) <= most else line[: most - 1].rstrip() + "…"


def rank_in_order(texts: Iterable[str]) -> list[Fact]:
    """Lines of distinct texts, the most telling first; empty ones are left out."""
    return [Fact(text, place) for place, text in enumerate(dict.fromkeys(filter(None, texts)))]


def rank_newest_first(texts: Iterable[str]) -> list[Fact]:
    """Lines of distinct texts that stand in order of time, of which the newest are the most telling."""
    return rank_in_order(texts)[::-1]


_HERE: Final = "./"
"""In place of the root."""
_ROOT: Final = ". is "
_LIST: Final = re.compile(
    r"(?P<folder>\S*/): (?P<names>[^\s,]+(?: \(changed\))?(?:, [^\s,]+(?: \(changed\))?)*)"
)
_UNLISTED: Final = re.compile(r"[\s,]")
"""In paths that are told whole, so that lists can be read again."""
_NO_NAME: Final = re.compile(r"[./~]*")


class SplitPath(NamedTuple):
    """A path in two: the folder with a slash behind it, "" for none, and the rest."""

    folder: str
    rest: str


class FolderIndex:
    """Folders of some paths; `known` are all paths that are mentioned.

    A folder in several forms is told in its longest. `root` is what `./` stands for, "" where nothing is
    gained: the folder that shortens most, of those that most of the absolute paths are in.
    """

    def __init__(self, paths: Sequence[str], known: PathIndex) -> None:
        self._known = known
        self._parts = {path: self._parted(path) for path in paths}
        folders = [self._parts[path].folder for path in paths]
        self._folders = PathIndex(dict.fromkeys(folders))
        self._wholes: dict[str, str] = {}
        self.root = _root([self._whole(folder) for folder in folders])

    def split(self, path: str) -> SplitPath:
        """Return a path in two, so that the rest alone tells it from all that are known.

        That is the name of the file if no other path has it, else the name with its own folder.
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
        # A name with no extension is as like as not an ordinary word.
        if not (names and "." in names[-1] and self._known.is_unambiguous(names)):
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
    """Return the line that says what `./` stands for, "" for nothing."""
    return _ROOT + root if root else ""


def parse_root(line: str) -> str:
    """Return what `./` stands for by a line, "" for a line that does not say so."""
    return line.removeprefix(_ROOT) if line.startswith(f"{_ROOT}/") else ""


def strip_root(path: str, root: str) -> str:
    """Return a path as it was before it was told from a root."""
    return root + path.removeprefix(_HERE) if root and path.startswith(_HERE) else path


def split_list(line: str) -> list[str]:
    """Return the paths of a line that tells them by folder, none for any other line."""
    found = _LIST.fullmatch(line)
    return [found["folder"] + name for name in found["names"].split(", ")] if found else []
