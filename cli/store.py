"""Which store a command works on, and which session a person means."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from eventstore.lmdb_log import LmdbLog
    from eventstore.log import Snapshot
    from projections.standpoint import Leaf


def store_path(store: str | None) -> str:
    """The store's folder: as given, or the platform's data directory."""
    if store:
        return store
    import platformdirs

    return str(Path(platformdirs.user_data_dir("refold"), "store"))


@contextmanager
def opened(ctx: click.Context, *, create: bool = False) -> Iterator[LmdbLog]:
    """The store that the command line names, closed at the end."""
    from eventstore import open_store

    with open_store(store_path(ctx.obj), create=create) as log:
        yield log


@contextmanager
def opened_session(ctx: click.Context, name: str) -> Iterator[tuple[LmdbLog, str]]:
    """The store and the id of the session that a person means by `name`; a file is imported first."""
    is_file = looks_like_file(name)
    with opened(ctx, create=is_file) as log:
        yield log, resolve_session(log, name)


def looks_like_file(name: str) -> bool:
    """Whether a session's name is to be read as the path of a file."""
    return os.sep in name or name.endswith((".jsonl", ".json")) or Path(name).is_file()


def resolve_session(log: LmdbLog, name: str) -> str:
    """The id of a session by id, unique beginning of one, title, `@last` or path of a file, in this order.

    Raises NotFoundError, AmbiguousError, and for a file what an import raises.
    """
    if looks_like_file(name):
        from cli.importing import import_with_progress

        return import_with_progress(log, name).id
    from eventstore.errors import AmbiguousError, NotFoundError
    from projections.title import title

    with log.snapshot() as snapshot:
        heads = list(snapshot.heads())
        if name == "@last":
            if not heads:
                raise NotFoundError("session", name, "the store is empty: refold import FILE")
            return max(heads, key=lambda head: head.position).name
        names = {head.name for head in heads}
        if name in names:
            return name
        beginning = [each for each in names if each.startswith(name)]
        newest = _newest_generation(beginning)
        if newest:
            return newest
        titled = [] if beginning else [head.name for head in heads if title(snapshot, head.name) == name]
        if len(titled) == 1:
            return titled[0]
        if beginning or titled:
            raise AmbiguousError("session", name, sorted(beginning or titled))
    raise NotFoundError("session", name, "'refold sessions' lists what is there")


def _newest_generation(names: list[str]) -> str | None:
    """Of the generations of one session the newest; None where the names are of several sessions, or none."""
    if not names or len({name.partition("~")[0] for name in names}) > 1:
        return None
    return max(names, key=lambda name: int(name.partition("~")[2] or 1))


def resolve_leaf(snapshot: Snapshot, session: str, name: str | None) -> Leaf:
    """The leaf that a person means: an event, `root`, or, where nothing is named, where the session stands."""
    from projections.standpoint import ROOT

    if name == "root":
        return ROOT
    return resolve_event(snapshot, session, name) if name else None


def resolve_event(snapshot: Snapshot, session: str, name: str) -> str:
    """The id of an event by its id, a unique beginning of one, or its number as `#N`."""
    from eventstore.errors import AmbiguousError, NotFoundError
    from eventstore.frame import header_of, names_of

    if snapshot.locate(session, name):
        return name
    if name.startswith("#") and name[1:].isdecimal():
        frame = snapshot.frame(session, int(name[1:]))
        return names_of(frame, header_of(frame))[0]
    found = list(snapshot.ids(session, name))
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousError("event", name, found)
    raise NotFoundError("event", name, f"'refold log {session}' lists the events")
