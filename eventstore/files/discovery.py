"""Identify the harness of a file by its contents, and find session files on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from eventstore.errors import BadInputError, NoSessionError
from eventstore.formats import harnesses
from eventstore.formats.base import Certainty, Format
from eventstore.formats.source import BEGINNING, SessionLocation, Source, SourceContents
from eventstore.formats.unread import UNREAD, unread_harness


class ForeignSessionError(BadInputError):
    """A file looks like a session of a harness whose sessions cannot be imported."""

    def __init__(self, source: str, harness: str) -> None:
        super().__init__(
            source, f"looks like a session of {harness}", f"refold imports those of {_names('and')}"
        )
        self.harness = harness


def open_source(source: Source) -> SourceContents:
    """Open a source with the format that recognizes it best.

    Raises NoSessionError for a file that is none, ForeignSessionError for one of another harness.
    """
    refused: BadInputError | None = None
    for each in _claims(source):
        try:
            contents = each.open(source)
        except BadInputError as error:
            refused = refused or error
        else:
            if not contents.sessions:
                raise BadInputError(source.name, "holds no session", "there is nothing to import")
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


def _claims(source: Source) -> list[Format]:
    """Return the formats that recognize a source, most certain first."""
    beginning = source.beginning()
    sure = [(each.recognize(beginning, source.path), each) for each in harnesses()]
    return [each for certainty, each in sorted(sure, key=lambda pair: -pair[0]) if certainty]


def unreadable_harness(path: str) -> str:
    """Return the unsupported harness whose session a file looks like.

    Return "" if there is none, or if the file cannot be read.
    """
    return unread_harness(_beginning(path))


def _beginning(path: str) -> bytes:
    """Return the first bytes of a file, b"" if it cannot be read."""
    # Reading a pipe without a writer would block forever.
    if not Path(path).is_file():
        return b""
    try:
        with Path(path).open("rb") as file:
            return file.read(BEGINNING)
    except OSError:
        return b""


class SearchedFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder in which a harness keeps sessions; it may not exist."""

    harness: str
    folder: str


class SessionFolder(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The session files of one harness in a folder and below.

    `place` is the harness's folder for all sessions. `newest` is the time of the last change of a file, in
    epoch milliseconds; `bytes` is the size of all files. `importable` means that a format reads them.
    """

    harness: str
    place: str
    folder: str
    files: int
    bytes: int
    newest: int
    importable: bool


def session_places(environment: Mapping[str, str]) -> list[SearchedFolder]:
    """Return the session folders of all known harnesses, importable ones first."""
    return [SearchedFolder(harness=name, folder=folder) for name, folder, _ in _places(environment)]


def session_folders(environment: Mapping[str, str]) -> list[SessionFolder]:
    """Find the session files of all known harnesses; return their folders, newest first.

    A folder is a direct child of a harness's place, mostly that of a project. Nothing is imported.
    """
    readable = {each.name for each in harnesses()}
    found: dict[tuple[str, str, str], list[os.stat_result]] = {}
    seen: set[str] = set()
    for owner, folder, pattern in _places(environment):
        for path in Path(folder).glob(pattern):
            # Harnesses may share a folder.
            if str(path) in seen:
                continue
            seen.add(str(path))
            try:
                stat = path.stat()
            except OSError:
                continue
            inside = path.relative_to(folder).parts[:-1]
            key = (_writer(str(path), owner), folder, str(Path(folder, *inside[:1])))
            found.setdefault(key, []).append(stat)
    folders = [
        SessionFolder(
            harness=name,
            place=place,
            folder=folder,
            files=len(stats),
            bytes=sum(each.st_size for each in stats),
            newest=max(each.st_mtime_ns for each in stats) // 1_000_000,
            importable=name in readable,
        )
        for (name, place, folder), stats in found.items()
    ]
    return sorted(folders, key=lambda each: (-each.newest, each.folder))


def _places(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each harness's name, session folder and file pattern."""
    known: list[tuple[str, Iterable[SessionLocation]]] = [(each.name, each.places) for each in harnesses()]
    known += [(each.name, each.places) for each in UNREAD]
    for name, places in known:
        for place in places:
            yield name, os.path.expanduser(place.folder(environment)), place.pattern  # noqa: PTH111  no Path


def _writer(path: str, owner: str) -> str:
    """Return the harness that wrote a file, by its contents, else by its folder."""
    beginning = _beginning(path)
    sure = (each.name for each in harnesses() if each.recognize(beginning, path) is Certainty.SURE)
    return next(sure, "") or unread_harness(beginning) or owner
