"""Define the protocol of a format: names, tools, typed views of records, sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import msgspec

from eventstore.event import OWN_PLACE, Event, NewEvent, Place
from eventstore.log import Snapshot
from eventstore.node import Node
from eventstore.views import ApiMessage, Message, Payload

if TYPE_CHECKING:
    from eventstore.harnesses.resumable import Resumable, Written
    from eventstore.harnesses.source import Source, SourceContents


class Editor(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that views or changes files; some values of `command` only view.

    `paths` are the arguments that name the files.
    """

    command: str
    views: str
    paths: tuple[str, ...]


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a harness, as data: what they do, and which arguments they use.

    `reads` and `modifies` map tools to the arguments that may name their file, in order, `shells` to those
    that may hold the script. The arguments of `patches` hold patches; the newest call of one of `plans` holds
    the current plan. In calls of any tool, `paths` are arguments that may name a file or address, `scripts`
    those that may hold a command, in order, `ranges` those that choose lines of a file. `selector` matches a
    line selector at the end of a read path.
    """

    reads: Mapping[str, tuple[str, ...]]
    modifies: Mapping[str, tuple[str, ...]]
    editors: Mapping[str, Editor] = {}
    patches: frozenset[str] = frozenset()
    shells: Mapping[str, tuple[str, ...]] = {}
    plans: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    selector: str = ""


NO_TOOLS: Final = Tools(reads={}, modifies={})
"""The tools of messages that hold no calls."""


class SessionLocation(msgspec.Struct, frozen=True, kw_only=True):
    """A folder in which a harness keeps its sessions.

    `environment` maps variables that name a folder to the place in that folder; the first nonempty one
    counts. `default` is the place without one. `pattern` matches the session files below it.
    """

    environment: Mapping[str, str]
    default: str
    pattern: str

    def folder(self, environment: Mapping[str, str]) -> str:
        """Return the folder, with "~" expanded to the home folder."""
        from pathlib import Path  # noqa: PLC0415  commands that read a store need none

        named = (
            Path(environment[name], place)
            for name, place in self.environment.items()
            if environment.get(name)
        )
        return str(next(named, self.default))


class Certainty(IntEnum):
    """A format's certainty that a source is of its harness."""

    NONE = 0
    POSSIBLE = 1
    SURE = 2


Export: TypeAlias = Callable[[Snapshot, str], Iterator[bytes]]
"""Yields all of a session as its harness's file, with what the store appended."""


class Format(Protocol):
    """Everything about how one harness writes its sessions."""

    name: str
    """The harness's name, as in `--format`."""
    versions: tuple[str, ...]
    """The names of its records in frames, such as "pi/3"; each is in `eventstore.frame.FORMATS`."""
    tools: Tools
    places: tuple[SessionLocation, ...]
    """The folders of the harness's sessions."""
    exports: Mapping[str, Export]
    """The exporters of its own sessions' files by name, as in `--format`."""
    needs_header: bool = False
    """A file begins with what the harness says of the session; a fork has no such record."""

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:
        """Return what a record means; `parent` is the record above a compaction."""

    def written(self, resumable: Resumable) -> Written | None:  # noqa: ARG002  others are asked
        """Return a file that the harness resumes with a context; None if there is no writer."""
        return None

    def message(self, raw: bytes) -> Message:
        """Return the view of a message in a context: JSON in the harness's shape."""

    def api_message(self, raw: bytes) -> ApiMessage | None:  # noqa: ARG002  others are asked
        """Read such a message in the Messages API's shape; None if view and payloads say it all."""
        return None

    def response_item(self, raw: bytes) -> bytes:  # noqa: ARG002  others are asked
        """Return such a message as an item of the Responses API; b"" if it has another shape."""
        return b""

    def payloads(self, raw: bytes) -> list[Payload]:  # noqa: ARG002  others are asked
        """Return what the view of a message of another shape omits, block by block."""
        return []

    def place(self, version: str, event_id: str, record: bytes) -> Place:  # noqa: ARG002  others read it
        """Return what the record of an event says of its place in the tree."""
        return OWN_PLACE

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:
        """Return the certainty that a file is the harness's, by its first 64 KiB."""

    def open(self, source: Source) -> SourceContents:
        """Open a source. Raises BadInputError if it is not the harness's or cannot be read."""

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:
        """Return True if a record equals an export of the stored event with its id."""
