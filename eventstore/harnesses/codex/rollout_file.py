"""Open a Codex rollout, plain or compressed; its file's name names the session."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any, BinaryIO, Final, cast

from eventstore.errors import BadInputError, NoSessionError
from eventstore.event import MAX_RECORD_BYTES
from eventstore.harnesses.codex.rollout_line import VERSION, line_of
from eventstore.harnesses.codex.rollout_reader import RolloutReader
from eventstore.harnesses.codex.rollout_records import records_in
from eventstore.harnesses.names import is_name
from eventstore.harnesses.source import (
    KnownEvents,
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    SourceSession,
)
from eventstore.records import Resume

COMPRESSED: Final = b"\x28\xb5\x2f\xfd"
"""The first bytes of a file of Zstandard."""
_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME: Final = re.compile(
    rf"rollout-\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d-({_UUID})(?:_({_UUID}))?\.jsonl(?:\.zst)?"
)
LARGEST: Final = 4 << 30
"""Bytes of a decompressed rollout, which takes as much room in the temporary folder."""
_BLOCK: Final = 1 << 20
_NAMELESS: Final = "the file's name is not a rollout's: the thread in its first record names the session"


class RolloutFile(SourceContents):
    """An open rollout. A thread may have several, so the session is that of the file."""

    growth = SourceGrowth.APPENDED
    passing = frozenset({_NAMELESS})

    def __init__(self, source: Source) -> None:
        if source.beginning().startswith(COMPRESSED):
            _decompress(source)
        self.source = source
        self.differs = ""
        name = rollout_in(source.path)
        first = next(_records(source), None)
        if first is None:
            raise NoSessionError(source.name, "contains no readable record", "name a rollout of codex")
        if not name:
            self.differs = _NAMELESS
            name = _thread_in(first)
        self.sessions = (SourceSession(name=name, format=VERSION),)

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        return RolloutReader(self.source.file, self.sessions[0].name, self.differs, resume, known)


def rollout_in(path: str | os.PathLike[str]) -> str:
    """Return the rollout that a file's name names, "" for none."""
    found = _NAME.fullmatch(os.path.basename(os.fsdecode(path)))  # noqa: PTH119  the path may be one of bytes
    return (found[2] or found[1]) if found else ""


def _thread_in(record: bytes) -> str:
    thread = line_of(record).fields.get("id")
    is_thread = isinstance(thread, str) and is_name(thread)
    return cast("str", thread) if is_thread else f"noid-{sha256(record).hexdigest()[:16]}"


def _records(source: Source) -> Iterator[bytes]:
    source.file.seek(0)
    while line := source.file.readline(MAX_RECORD_BYTES):
        for start, stop, _ in records_in(line).records:
            yield line[start:stop]


def _decompress(source: Source) -> None:
    """Read the lines in a compressed file in place of its bytes. Raises BadInputError."""
    from tempfile import TemporaryFile  # noqa: PLC0415  most rollouts are plain

    zstd = _zstd(source.name)
    plain = cast("BinaryIO", TemporaryFile())  # noqa: SIM115  closed with its last reader
    source.file.seek(0)
    try:
        with zstd.open(source.file, "rb") as lines:
            _copy(lines, plain, source.name)
        plain.flush()
    except (zstd.ZstdError, EOFError) as error:
        plain.close()
        raise BadInputError(
            source.name, f"cannot be decompressed ({error})", "wait until it is written, or restore it"
        ) from None
    except OSError as error:
        with suppress(OSError):  # closing writes what is left
            plain.close()
        problem = f"cannot be decompressed ({error.strerror})"
        raise BadInputError(source.name, problem, "make room in the temporary folder") from None
    except BaseException:
        plain.close()
        raise
    source.replace(plain, plain.tell())


def _copy(lines: BinaryIO, plain: BinaryIO, source: str) -> None:
    """Copy a decompressed file. Raises BadInputError if it is too large."""
    while block := lines.read(_BLOCK):
        plain.write(block)
        if plain.tell() > LARGEST:
            problem = f"has more than {LARGEST >> 30} GiB when it is decompressed"
            raise BadInputError(source, problem, "decompress it, and name the file that it gives")


def _zstd(source: str) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found]  # noqa: PLC0415  Python 3.14's own
    except ImportError:
        try:
            from backports import zstd  # noqa: PLC0415
        except ImportError:
            raise BadInputError(
                source, "is compressed with Zstandard", "install refold[codex] to read it"
            ) from None
    return zstd
