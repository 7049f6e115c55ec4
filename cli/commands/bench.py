"""refold bench."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from cli.options import as_of_option, json_option, leaf_option

if TYPE_CHECKING:
    from eventstore.log import StoredLog
    from projections.context.cursor import Leaf

_SESSIONS: Final = 10
"""Sessions to measure if none is named."""
_FEWEST: Final = 3
_MOST: Final = 100
"""Rounds of a measurement: between these two, as many as fit into a fixed time."""
_ENOUGH: Final = 0.3
_SLOWER: Final = 1.5
"""Times as long as in an earlier run, both divided by the JSON fold, that are a regression."""
_APPENDS: Final = 50
_TEXT: Final = "x" * 2_000
"""The text of an appended message, as long as the average message of real sessions."""
_MILLISECOND: Final = 0.001

_clock = time.perf_counter


@click.command("bench", epilog="Example:  refold bench @last")
@click.argument("names", metavar="[SESSION]...", nargs=-1)
@leaf_option
@as_of_option
@click.option(
    "--against",
    type=click.File("rb"),
    metavar="FILE",
    help="An earlier run's --json. Exit with code 1 if a rebuild, divided by the JSON fold, takes 1.5 times as long.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    *,
    leaf: str | None,
    as_of: int | None,
    against: BinaryIO | None,
    as_json: bool,
) -> None:
    """Measure how fast contexts are rebuilt, with your own sessions on your own disk.

    Print three comparisons: rebuilding each session's context from the store, against a fold of its file
    with Python's json; importing that file into a new store, against the same fold; and appending messages, each
    flushed to disk, against writing lines to a file. Without a SESSION, measure the ten sessions with the
    most events.

    The store is not changed, except that a SESSION that names a file is imported first. --leaf and --as-of say
    which context is rebuilt, of one SESSION.
    """
    from cli.output import echo_json, echo_problem, progress_bar
    from cli.store import looks_like_file, opened, resolve_leaf, resolve_session
    from eventstore.errors import CorruptionError

    if len(names) != 1 and (leaf is not None or as_of is not None):
        raise click.UsageError("--leaf and --as-of need one SESSION", ctx)
    earlier = _earlier(against) if against else {}
    with opened(ctx, create=any(map(looks_like_file, names))) as log:
        store, place = log.path, log.place
        sessions = list(dict.fromkeys(resolve_session(log, name) for name in names)) or _largest(log)
        with log.snapshot() as snapshot:
            at = resolve_leaf(snapshot, sessions[0], leaf) if sessions else None
        with _folder_beside(log.folder) as folder:
            log.close()
            measured, problems = [], []
            with progress_bar("measuring") as report:
                for number, session in enumerate(sessions):
                    report(number, len(sessions) + 1)
                    try:
                        measured.append(_measured(store, session, folder, leaf=at, as_of=as_of))
                    except CorruptionError as error:
                        problems.append(f"not measured: {error}")
                appends = _appends(folder)
    found = {"store": place, "sessions": measured, "append": appends}
    if as_json:
        echo_json(found)
    else:
        _print(found)
    for problem in problems:
        echo_problem(problem)
    ctx.exit(1 if _report_regressions(measured, earlier) or problems else 0)


def _earlier(file: BinaryIO) -> dict[str, float]:
    """Return by session how long a rebuild took in an earlier run, divided by the JSON fold."""
    from eventstore.errors import BadInputError

    try:
        return {each["session"]: 1 / each["foldRatio"] for each in json.load(file)["sessions"]}
    except (ValueError, KeyError, TypeError, ZeroDivisionError, UnicodeDecodeError):
        raise BadInputError(
            file.name, "is not the JSON of an earlier run", "give what --json printed"
        ) from None


def _report_regressions(measured: list[dict[str, Any]], earlier: dict[str, float]) -> bool:
    """Say which rebuilds are slower than in an earlier run; return True for any."""
    from cli.output import echo_problem
    from cli.store import short_names

    names, found = short_names([each["session"] for each in measured]), False
    for each in measured:
        before, now = earlier.get(each["session"]), 1 / each["foldRatio"]
        if before is not None and now > _SLOWER * before:
            found = True
            slower = f"{_times(now / before)} as long as in the earlier run, against the JSON fold"
            echo_problem(
                f"{names[each['session']]}: a rebuild takes {slower}", "measure again, with nothing beside it"
            )
    return found


def _largest(log: StoredLog) -> list[str]:
    with log.snapshot() as snapshot:
        heads = sorted(snapshot.heads(), key=lambda head: -head.version)
    return [head.name for head in heads[:_SESSIONS]]


def _harness(log: StoredLog, session: str) -> str:
    from eventstore.paths import event
    from projections.rules import rules_at

    with log.snapshot() as snapshot:
        leaf = snapshot.head(session).leaf
        return rules_at(snapshot, event(snapshot, session, leaf) if leaf else None).name


@contextmanager
def _folder_beside(store: str) -> Iterator[Path]:
    """Make a folder beside the store or a temporary one; remove it at the end, even on a signal."""
    from cli.output import echo_note
    from cli.whole_file import tidy_end

    parent = Path(store).absolute().parent
    with tidy_end():
        try:
            folder = tempfile.mkdtemp(prefix="refold-bench-", dir=parent)
        except OSError:
            folder = tempfile.mkdtemp(prefix="refold-bench-")
            echo_note(f"{parent} cannot be written: imports and appends are measured on the disk of {folder}")
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _exported(log: StoredLog, session: str, file: Path) -> Path:
    from eventstore import export_original, export_session
    from eventstore.files.exporting import export_formats

    form = _harness(log, session)
    can_write = form in export_formats()
    with file.open("wb") as out:
        out.writelines(export_session(log, session, form) if can_write else export_original(log, session))
    return file


def _measured(store: str, session: str, folder: Path, *, leaf: Leaf, as_of: int | None) -> dict[str, Any]:
    """Measure a session; its file is what a harness without a store would have."""
    from eventstore import import_sessions, open_store
    from projections.context.build import context_json

    def rebuild() -> bytes:
        with open_store(store, create=False) as log:
            return context_json(log, session, leaf=leaf, as_of=as_of)

    def import_anew() -> None:
        with open_store(folder / "imported") as log:
            import_sessions(log, file)

    with open_store(store, create=False) as log:
        file = _exported(log, session, folder / "session.jsonl")
        events = _events(log, session)
        (open_rebuild,) = _timed(lambda: context_json(log, session, leaf=leaf, as_of=as_of))
    # The first field has the messages, whatever the harness calls it.
    messages = len(next(iter(json.loads(rebuild()).values())))
    from_closed, folding = _timed(rebuild, lambda: _folded(file))
    (imported,) = _timed(import_anew, after=lambda: shutil.rmtree(folder / "imported"))
    folded = _middle(folding)
    return {
        "session": session,
        "events": events,
        "messages": messages,
        "fileBytes": file.stat().st_size,
        "rebuildSeconds": _middle(from_closed),
        "rebuildSecondsP99": round(quantiles(from_closed, n=100, method="inclusive")[-1], 9),
        "openRebuildSeconds": _middle(open_rebuild),
        "openRebuildSecondsP99": round(quantiles(open_rebuild, n=100, method="inclusive")[-1], 9),
        "foldSeconds": folded,
        "foldRatio": folded / _middle(from_closed),
        "importSeconds": _middle(imported),
        "importRatio": _middle(imported) / folded,
    }


def _events(log: StoredLog, session: str) -> int:
    with log.snapshot() as snapshot:
        return snapshot.head(session).version


def _timed(*runs: Callable[[], object], after: Callable[[], object] = lambda: None) -> list[list[float]]:
    """Run each in turn, several times; return their durations in seconds. `after` is not timed."""
    times: list[list[float]] = [[] for _ in runs]
    while len(times[0]) < _FEWEST or (len(times[0]) < _MOST and sum(map(sum, times)) < len(runs) * _ENOUGH):
        for run, each in zip(runs, times, strict=True):
            begun = _clock()
            run()
            each.append(_clock() - begun)
        after()
    return times


def _middle(times: list[float]) -> float:
    return round(median(times), 9)


def _folded(file: Path) -> list[dict[str, Any]]:
    """Return a session's path as a simple harness builds it: from all decoded lines.

    It leads from the last one to the root. A file whose records name no parents is its path as a whole.
    """
    entries = []
    with file.open("rb") as lines:
        for line in lines:
            # A harness skips lines that it cannot read.
            with suppress(ValueError, RecursionError):
                entries.append(json.loads(line))
    entries = [entry for entry in entries if isinstance(entry, dict)]
    by_id = {str(entry.get("id") or entry.get("uuid") or at): entry for at, entry in enumerate(entries)}
    path = list[dict[str, Any]]()
    entry = entries[-1] if entries else None
    while entry is not None and len(path) <= len(entries):
        path.append(entry)
        entry = by_id.get(str(entry.get("parentId") or entry.get("parentUuid")))
    return path if len(path) > 1 else entries


def _appends(folder: Path) -> dict[str, Any]:
    """Measure appends to a store and lines written to a file, alternating, each flushed to disk."""
    from eventstore import SessionWriter, open_store

    message = {"role": "user", "content": _TEXT}
    line = json.dumps(message).encode() + b"\n"
    appends: list[float] = []
    writes: list[float] = []
    with open_store(folder / "appended") as log, (folder / "appended.jsonl").open("ab") as file:
        writer = SessionWriter(log, "bench")
        for _ in range(_APPENDS):
            begun = _clock()
            writer.message(message)
            between = _clock()
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
            appends.append(between - begun)
            writes.append(_clock() - between)
    seconds, of_file = round(median(appends), 9), round(median(writes), 9)
    return {
        "events": _APPENDS,
        "bytes": len(line),
        "seconds": seconds,
        "fileSeconds": of_file,
        "ratio": seconds / of_file,
    }


_MEANING: Final = {
    "REBUILD": "opening the store and building the messages of the next request",
    "P99": "what 99 of 100 rebuilds take at most",
    "STORE OPEN": "the same, with the store already open",
    "JSON FOLD": "every line of the file with Python's json, then its path",
    "SPEED": "JSON FOLD divided by REBUILD",
    "IMPORT": "the file into a new store",
}
"""The columns of the table that need an explanation."""


def _print(found: dict[str, Any]) -> None:
    from cli.output import console, print_line, safe_line, table, thousands
    from cli.store import short_names

    out = console()
    sessions = found["sessions"]
    if sessions:
        columns = ("EVENTS", "REBUILD", "P99", "STORE OPEN", "JSON FOLD", "SPEED", "IMPORT")
        rows = table("SESSION", *columns, right=columns, drops=("STORE OPEN", "IMPORT", "P99"))
        names = short_names([each["session"] for each in sessions])
        for each in sessions:
            rows.add_row(
                safe_line(names[each["session"]]),
                thousands(each["events"]),
                _time(each["rebuildSeconds"]),
                _time(each["rebuildSecondsP99"]),
                _time(each["openRebuildSeconds"]),
                _time(each["foldSeconds"]),
                _speed(each["foldRatio"]),
                _time(each["importSeconds"]),
            )
        out.print(rows, crop=False)
        out.print()
        for name in rows.headings:
            if name in _MEANING:
                print_line(out, f"{name:<10}  {_MEANING[name]}")
        out.print()
    append = found["append"]
    print_line(
        out,
        f"Appending a message of {append['bytes']:,} bytes, flushed to disk: {_time(append['seconds'])}, "
        f"{_times(append['ratio'])} the {_time(append['fileSeconds'])} for a line at the end of a file.",
    )


def _time(seconds: float) -> str:
    """Format a time with three digits."""
    value, unit = (seconds * 1e6, "µs") if seconds < _MILLISECOND else (seconds * 1e3, "ms")
    value, unit = (seconds, "s") if seconds >= 1 else (value, unit)
    return f"{value:,.{_decimals(value)}f} {unit}"


def _speed(ratio: float) -> str:
    return f"{_times(ratio)} faster" if ratio >= 1 else f"{_times(1 / ratio)} slower"


def _times(ratio: float) -> str:
    return f"{ratio:,.{_decimals(ratio)}f} ×"  # noqa: RUF001  the sign that the tables have


def _decimals(value: float) -> int:
    return 2 if value < 10 else 1 if value < 100 else 0  # noqa: PLR2004  three digits in all
