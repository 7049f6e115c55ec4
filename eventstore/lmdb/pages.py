"""Check the pages of a store's file before LMDB reads them.

Reading a damaged page through LMDB can crash the process with a signal. So they are walked in a separate
process: `python -m eventstore.lmdb.pages FOLDER`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import lmdb
import msgspec

from eventstore.errors import StoreError
from eventstore.lmdb.data_files import DATA_FILE
from eventstore.lmdb.opening import open_for_walk, page_problems
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import IntegrityFinding, Verification, verify


def check_pages(folder: str | os.PathLike[str]) -> Verification | None:
    """Return the problems of a store's pages and their effect on its sessions, None if sound.

    The store may be in use meanwhile. A missing or unreadable store is not judged: opening it reports that.
    Raises StoreError if damaged pages prevent opening.
    """
    data = Path(folder, DATA_FILE)
    if not os.access(data, os.R_OK) or not data.is_file() or not data.stat().st_size:
        return None
    beside = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    # -P: do not import from the current folder.
    done = subprocess.run(  # noqa: S603  this very program
        [sys.executable, "-P", "-m", "eventstore.lmdb.pages", os.fspath(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, beside))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    walked, *further = done.stdout.splitlines()[:2] or [b"[]"]
    problems = msgspec.json.decode(walked, type=list[str])
    found = Verification(sessions=0, events=0, findings=[])
    if further:
        opened = msgspec.json.decode(further[0], type=Verification | tuple[str, str, str])
        if isinstance(opened, tuple):
            raise StoreError(*opened)
        found = opened
    elif done.returncode < 0:
        problems.append(f"reading it ends a process by {signal.Signals(-done.returncode).name}")
    elif not problems:
        return None
    pages = [IntegrityFinding(session="", seq=0, problem=problem) for problem in problems]
    return msgspec.structs.replace(found, findings=[*pages, *found.findings])


def require_sound_pages(folder: str | os.PathLike[str]) -> None:
    """Raise StoreError if the pages of a store's file are damaged; see `check_pages`."""
    if damaged := check_pages(folder):
        problem = f"is damaged ({damaged.findings[0].problem})"
        raise StoreError(os.fspath(folder), problem, "run 'refold verify', then restore a backup")


def _main(folder: str) -> None:
    """Print the pages' problems as a line of JSON; if any, verify and print the findings."""
    problems = _walk(folder)
    _print(problems)
    if not problems:
        return
    try:
        with LmdbLog(folder, create=False) as log:
            _print(verify(log))
    except StoreError as error:
        _print((error.path, error.problem, error.remedy))


def _walk(folder: str) -> list[str]:
    with ExitStack() as stack:
        # The transaction keeps writers from using the pages again that are walked. Where none is to be had, the walk
        # alone has to do; without a lock file, no other process has the store open.
        with suppress(lmdb.Error, OSError):
            env = stack.enter_context(open_for_walk(folder))
            stack.enter_context(env.begin())
        return page_problems(str(Path(folder, DATA_FILE)))


def _print(found: object) -> None:
    # Print each at once: the next step may crash the process.
    sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    _main(sys.argv[1])
