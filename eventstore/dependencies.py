"""Record which sessions and code a result depends on, to store it and use it again."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from eventstore.checked import require_sound
from eventstore.errors import NotFoundError
from eventstore.frame import Buffer
from eventstore.log import EventLog, FeedItem, Head, Snapshot, SnapshotWrapper

_Result = TypeVar("_Result", bound=msgspec.Struct)
_LEVEL: Final = 1
"""The fastest compression: texts take most of the room."""
_LARGEST: Final = 64 << 20
"""Bytes of a result that is read back; a larger one is made again."""


def digest_of_session(snapshot: Snapshot, session: str) -> bytes | None:
    """Return the digest of a session's chain, None if there is no such session."""
    try:
        return snapshot.head(session).digest
    except NotFoundError:
        return None


def digest_of_code(packages: Iterable[str], libraries: Iterable[str]) -> bytes:
    """Return a digest that changes with the files of packages and with the modules of libraries.

    Files are identified by place, size and time, which is enough to leave no old results in use.
    """
    folders = [Path(place).parent for place in _places(packages)]
    files = sorted(
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.parent.name != "__pycache__" and file.is_file()
    )
    files += map(Path, _places(libraries))
    stats = [(str(file), stat.st_size, stat.st_mtime_ns) for file in files if (stat := file.stat())]
    return blake2b(repr(stats).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _places(modules: Iterable[str]) -> Iterator[str]:
    """Yield the files of installed modules, of a package the one in its folder."""
    found = map(find_spec, modules)
    return (each.origin for each in found if each and each.origin)


class DependencySnapshot(SnapshotWrapper):
    """A `Snapshot` that remembers which sessions were read, with their digests.

    `reads_all`: a result depends on all sessions, also on those that are not there yet.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self.sessions: dict[str, bytes | None] = {}
        self.reads_all = False

    def _read(self, session: str) -> Snapshot:
        if session not in self.sessions:
            self.sessions[session] = digest_of_session(self._snapshot, session)
        return self._snapshot

    def heads(self) -> Iterator[Head]:
        self.reads_all = True
        return self._snapshot.heads()

    def head(self, session: str) -> Head:
        return self._read(session).head(session)

    def frame(self, session: str, seq: int) -> Buffer:
        return self._read(session).frame(session, seq)

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        return self._read(session).frames(session, first=first, last=last, backward=backward)

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        return self._read(session).path(session, leaf, first=first)

    def locate(self, session: str, event_id: str) -> int:
        return self._read(session).locate(session, event_id)

    def sessions_with(self, event_id: str, *, only: str = "") -> Sequence[str]:
        self.reads_all = True
        return self._snapshot.sessions_with(event_id, only=only)

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        return self._read(session).ids(session, prefix)

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        self.reads_all = True
        return self._snapshot.feed(after)


class _StoredResult(msgspec.Struct, frozen=True, array_like=True):
    """An encoded result, and the digests of the sessions that were read for it.

    None stands for a session that was not in the store.
    """

    sessions: dict[str, bytes | None]
    result: msgspec.Raw


class StoredResults:
    """Results that a log stores, used again while their sessions are the same.

    Make every result from `snapshot`, which notes the sessions that are read. Without a log, nothing is stored.
    """

    def __init__(self, log: EventLog | None, snapshot: Snapshot) -> None:
        self.snapshot = DependencySnapshot(snapshot)
        self._log, self._plain = log, snapshot
        self._sound: set[str] = set()
        self._fresh: list[tuple[bytes, bytes]] = []

    def find(self, key: bytes, kind: type[_Result]) -> _Result | None:
        """Return a stored result. Raises CorruptionError if an event that it depends on was altered."""
        value = self._plain.derived(key) if self._log is not None else None
        if not value:
            return None
        try:
            # A forged value may unpack to a thousand times its size.
            stored = msgspec.msgpack.decode(
                zlib.decompressobj().decompress(value, _LARGEST), type=_StoredResult
            )
            found = msgspec.msgpack.decode(stored.result, type=kind)
        except (zlib.error, msgspec.DecodeError, UnicodeDecodeError):
            return None
        if any(digest_of_session(self._plain, name) != digest for name, digest in stored.sessions.items()):
            return None
        # Equal heads show that nothing was appended; only reading every event shows that none was altered.
        for name, digest in stored.sessions.items():
            if digest is not None and name not in self._sound:
                require_sound(self._plain, name)
                self._sound.add(name)
        # A later result may be made from this one.
        self.snapshot.sessions.update(stored.sessions)
        return found

    def add(self, key: bytes, result: msgspec.Struct) -> None:
        """Store a result with the next `save`, unless it depends on sessions that are not there yet."""
        if self._log is None or self.snapshot.reads_all:
            return
        # A lone surrogate has no UTF-8 form, and a huge number no form at all; such a result is made anew each time.
        with suppress(UnicodeEncodeError, OverflowError):
            stored = _StoredResult(self.snapshot.sessions, msgspec.Raw(msgspec.msgpack.encode(result)))
            self._fresh.append((key, zlib.compress(msgspec.msgpack.encode(stored), _LEVEL)))

    def save(self) -> None:
        """Write what was added since the last time."""
        if self._log is not None and self._fresh:
            self._log.keep(self._fresh)
            self._fresh.clear()


def result_key(kind: str, *decides: object) -> bytes:
    """Return a key of a kind, with a digest of all that decides a result except the log."""
    encoded = repr(decides).encode("utf-8", "surrogatepass")
    return f"{kind} ".encode() + blake2b(encoded, digest_size=16).digest()
