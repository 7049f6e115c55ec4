"""Identify the harness of a file by its contents, and find session files on this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from eventstore.errors import BadInputError, NoSessionError
from eventstore.harnesses import harnesses
from eventstore.harnesses.base import Certainty, Format, SessionLocation
from eventstore.harnesses.source import BEGINNING_BYTES, Source, SourceContents
from eventstore.harnesses.unread import UNREAD, unread_harness


class ForeignSessionError(BadInputError):
    """A file looks like a session of a harness whose sessions cannot be imported."""

    def __init__(self, source: str, harness: str) -> None:
        super().__init__(
            source, f"looks like a session of {harness}", f"refold imports those of {_names('and')}"
        )
        self.harness = harness


def open_source(source: Source, harness: str = "") -> SourceContents:
    """Open a source with the format that recognizes it best.

    That of `harness` is asked first, and loaded alone if it is sure. Raises NoSessionError for a file that is none,
    ForeignSessionError for one of another harness, and BadInputError for one without a session.
    """
    refused: BadInputError | None = None
    for each in _claims(source, harness):
        try:
            contents = each.open(source)
        except BadInputError as error:
            refused = refused or error
        else:
            if not contents.sessions:
                raise BadInputError(source.name, "holds no session", "there is nothing to import")
            source.format = each
            return contents
    if harness := unread_harness(source.beginning()):
        raise ForeignSessionError(source.name, harness) from refused
    if refused is not None and not isinstance(refused, NoSessionError):
        raise refused
    problem, line = (refused.problem, refused.line) if refused else ("is not a session file", None)
    # No format is certain of a file that is none: its own remedy would name one harness of several.
    raise NoSessionError(source.name, problem, f"name a session file of {_names('or')}", line=line)


def _names(conjunction: str) -> str:
    """Return the names of the harnesses as a list in words."""
    *others, last = (each.name for each in harnesses())
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def _claims(source: Source, first: str) -> Iterator[Format]:
    """Yield the formats that recognize a source, most certain first; each is asked on demand."""
    if source.format is not None:
        yield source.format
    beginning, possible = source.beginning(), list[Format]()
    for each in harnesses(first):
        certainty = each.recognize(beginning, source.path)
        if certainty is Certainty.SURE:
            yield each
        elif certainty is Certainty.POSSIBLE:
            possible.append(each)
    yield from possible


def _beginning(path: str) -> bytes:
    """Return the first bytes of a file, b"" if it cannot be read."""
    # Reading a pipe without a writer would block forever.
    if not Path(path).is_file():
        return b""
    try:
        with Path(path).open("rb") as file:
            return file.read(BEGINNING_BYTES)
    except OSError:
        return b""


class SearchedFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder in which a harness keeps sessions; it may not exist."""

    harness: str
    folder: str


class SessionFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in a place where a harness keeps sessions, or in one that a person named.

    `harness` is the one whose place it is, "" for a named file or folder; only the file's contents tell who
    wrote it. `place` is that place, folder or file, and `folder` the file's folder directly in it, mostly that of
    a project.
    """

    harness: str
    place: str
    folder: str
    path: str
    status: os.stat_result


def session_places(environment: Mapping[str, str], homes: Sequence[str] = ()) -> list[SearchedFolder]:
    """Return the session folders of all known harnesses, importable ones first."""
    return [SearchedFolder(harness=name, folder=folder) for name, folder, _ in _places(environment, homes)]


def session_files(environment: Mapping[str, str], homes: Sequence[str] = ()) -> list[SessionFile]:
    """Find the session files of all known harnesses, parents before their children.

    They are in the places of harnesses, also of those that cannot be imported. With `homes`, the usual places
    below these home folders are searched instead of those of this user, and the environment does not count. A
    file that is found several times is returned once.
    """
    found: dict[tuple[int, int], SessionFile] = {}
    in_places = (
        _session_file(str(path), place, owner)
        for owner, place, pattern in _places(environment, homes)
        for path in Path(place).glob(pattern)
    )
    for file in in_places:
        if file is not None:
            found.setdefault((file.status.st_dev, file.status.st_ino), file)
    return _parents_first(found.values())


def named_files(path: str) -> list[SessionFile]:
    """Return the session files below a folder, or the file at a path."""
    return files_below(path) if Path(path).is_dir() else [named_file(path)]


def named_file(path: str) -> SessionFile:
    """Return the file at a path; its status is all zeros if it cannot be examined."""
    try:
        status = os.stat(path)  # noqa: PTH116  as in _session_file
    except OSError:
        status = os.stat_result([0] * 10)
    return SessionFile(harness="", place=path, folder=str(Path(path).parent), path=path, status=status)


def files_below(folder: str) -> list[SessionFile]:
    """Find the files in a folder that look like sessions, parents before their children.

    Files of harnesses that refold cannot import yet are among them.
    """
    # Paths below the current folder do not begin with its name, ".".
    place = str(Path(folder)) if Path(folder).parts else ""
    patterns = {each.pattern.rpartition("/")[2] for known in harnesses() for each in known.places}
    paths = (path for path in Path(folder).rglob("*") if _looks_like_session(path, patterns))
    found = (_session_file(str(path), place, "") for path in paths)
    return _parents_first(file for file in found if file is not None)


def _looks_like_session(path: Path, patterns: Collection[str]) -> bool:
    """Return True for a *.jsonl file, and for others whose contents a harness recognizes."""
    if path.suffix == ".jsonl":
        return True
    if path.suffix != ".json" and not any(path.match(each) for each in patterns):
        return False
    return _writer(str(path), "") != ""


def _session_file(path: str, place: str, owner: str) -> SessionFile | None:
    """Return a regular file with its status, None for anything else."""
    # There may be many thousands: a Path costs several times as much as the status.
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    first, is_deeper, _ = path[len(place) :].lstrip(os.sep).partition(os.sep)
    folder = os.path.join(place, first) if is_deeper else place  # noqa: PTH118
    return SessionFile(harness=owner, place=place, folder=folder, path=path, status=status)


def _parents_first(files: Iterable[SessionFile]) -> list[SessionFile]:
    """Sort files so that a session comes before those that it started.

    Harnesses keep subagents in folders below their parent's file, and many begin file names with a time.
    """

    def order(file: SessionFile) -> tuple[int, str, str]:
        depth = file.path.count(os.sep, len(file.place))
        return depth, file.path.rpartition(os.sep)[2], file.path

    return sorted(files, key=order)


def _places(environment: Mapping[str, str], homes: Sequence[str] = ()) -> Iterator[tuple[str, str, str]]:
    """Yield each harness's name, session folder and file pattern."""
    known: list[tuple[str, Iterable[SessionLocation]]] = [(each.name, each.places) for each in harnesses()]
    known += [(each.name, each.places) for each in UNREAD]
    for name, places in known:
        for place in places:
            if homes:
                for home in homes:
                    yield name, str(Path(home, place.default.removeprefix("~/")).absolute()), place.pattern
            else:
                folder = os.path.expanduser(place.folder(environment))  # noqa: PTH111  no Path
                yield name, str(Path(folder)), place.pattern


def writer_of(file: SessionFile) -> str:
    """Return the harness that wrote a file, by its contents, else by its place."""
    return _writer(file.path, file.harness)


def _writer(path: str, owner: str) -> str:
    """Return the harness that wrote a file, by its contents, else `owner`."""
    beginning = _beginning(path)
    sure = (each.name for each in harnesses() if each.recognize(beginning, path) is Certainty.SURE)
    return next(sure, "") or unread_harness(beginning) or owner
