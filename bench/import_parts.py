"""Compare the parts of an import with `json.loads` of every line: `python -m bench.import_parts FILE…`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import msgspec

from bench.test_import import import_into, parse_by_json
from eventstore.event import NewEvent
from eventstore.files.discovery import open_source
from eventstore.files.importing import import_file, opened_source
from eventstore.files.matching import SessionMatcher
from eventstore.log import AppendResult
from eventstore.memory import MemoryLog
from eventstore.records import Resume

ROUNDS = 7


class DiscardingLog(MemoryLog):
    """A log that counts what is appended, and keeps nothing."""

    version = 0

    def append(self, session: str, events: Sequence[NewEvent], **_: Any) -> AppendResult:  # noqa: ARG002
        self.version += len(events)
        return AppendResult(version=self.version, position=self.version, added=len(events))


def decode(file: Path) -> None:
    """Decode every line by msgspec."""
    with file.open("rb") as lines:
        for line in lines:
            msgspec.json.decode(line)


def digest(file: Path) -> None:
    """Digest the file as a whole and each line, as an import does."""
    whole = sha256()
    with file.open("rb") as lines:
        for line in lines:
            whole.update(line)
            sha256(line).digest()


def read(file: Path) -> None:
    """Make the events of the file, with their facts and the digests of their bodies."""
    with opened_source(file) as source:
        matcher = SessionMatcher(MemoryLog(), source, open_source(source), None)
        for _ in matcher.reader(Resume(offset=0, digest="", line=1)).pieces():
            pass


def import_nowhere(file: Path) -> None:
    """Import the file into a log that keeps nothing."""
    import_file(DiscardingLog(), file)


def main() -> None:
    with TemporaryDirectory() as folder:
        fresh = (Path(folder) / str(number) for number in itertools.count())
        parts: dict[str, Callable[[Path], None]] = {
            "json.loads": parse_by_json,
            "msgspec": decode,
            "digests": digest,
            "read": read,
            "without append": import_nowhere,
            "import": lambda file: import_into(next(fresh), file),
        }
        print("| file |" + "".join(f" {part} |" for part in parts))  # noqa: T201  its output is the table
        for file in map(Path, sys.argv[1:]):
            took: dict[str, list[float]] = {part: [] for part in parts}
            for _, (part, run) in itertools.product(range(ROUNDS), parts.items()):
                start = process_time()
                run(file)
                took[part].append(process_time() - start)
            unit = min(took["json.loads"])
            ratios = [f" {min(times) / unit:.2f} × |" for times in took.values()]  # noqa: RUF001  as docs write ratios
            print(f"| {file.name} |", f"{unit * 1e3:.1f} ms |", "".join(ratios[1:]))  # noqa: T201


if __name__ == "__main__":
    main()
