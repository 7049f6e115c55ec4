"""Whose session a file is, told by its contents alone."""

from __future__ import annotations

from pathlib import Path

from eventstore.errors import BadInputError
from eventstore.formats import harnesses
from eventstore.formats.base import Format
from eventstore.formats.source import BEGINNING, Contents, Source
from eventstore.formats.unread import unread_harness


class ForeignSessionError(BadInputError):
    """A file that looks like a session of a harness whose sessions cannot be imported."""

    def __init__(self, source: str, harness: str) -> None:
        names = " and ".join(f"{each.name}'s" for each in harnesses())
        super().__init__(source, f"looks like a session of {harness}", f"only {names} can be imported yet")
        self.harness = harness


def open_source(source: Source) -> Contents:
    """Open a source by the format that is surest of it.

    Raises BadInputError for what is no session's, and of it ForeignSessionError for a session of another harness.
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
    raise refused or BadInputError(source.name, "is no session file that refold knows", "name a session file")


def _claims(source: Source) -> list[Format]:
    """Return the formats that a source may be of, the surest first."""
    beginning = source.beginning()
    sure = [(each.recognize(beginning, source.path), each) for each in harnesses()]
    return [each for certainty, each in sorted(sure, key=lambda pair: -pair[0]) if certainty]


def unreadable_harness(path: str) -> str:
    """Return the harness whose session a file looks like that no format reads.

    "" for none that is known, and for what cannot be read.
    """
    # Reading a pipe that nobody writes to would take for ever.
    if not Path(path).is_file():
        return ""
    try:
        with Path(path).open("rb") as file:
            return unread_harness(file.read(BEGINNING))
    except OSError:
        return ""
