"""Audits of many sessions of a store, on all cores; of each no more than is wanted comes back."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from functools import cache, partial

import msgspec

from cli.audit_view.sessions import Row, row_of
from cli.gate import Bound, breaches
from cli.output import json_bytes
from cli.workers import results
from eventstore import open_store
from eventstore.errors import CorruptionError, RefoldError
from eventstore.lmdb_log import LmdbLog
from eventstore.log import Snapshot
from eventstore.verify import check_event
from projections.audit import Audit, audit
from projections.context.cursor import Leaf
from projections.prices import Prices
from projections.tokens import counter


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """How to audit sessions, and what of it is wanted: JSON, or just a row; and what is under a bound."""

    every_branch: bool = False
    counter: str = "utf16/4"
    prices: Prices | None = None
    bounds: tuple[Bound, ...] = ()
    is_json: bool = False


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """A session's audit as a row or as JSON, neither where it could not be made; `problems` are lines for people."""

    session: str
    row: Row | None = None
    encoded: bytes | None = None
    problems: tuple[str, ...] = ()


def audited(
    store: str, sessions: Sequence[str], wanted: Wanted, *, jobs: int
) -> Generator[Audited, None, None]:
    """Audit sessions of a store, in the order given, by up to `jobs` processes; with one job, or one session, here.

    Each process opens the store by itself and looks at one snapshot for each session: one that is written to
    meanwhile is audited as it stood at some moment. Raises WorkerLostError.
    """
    if min(jobs, len(sessions)) > 1:
        yield from results(partial(_by_worker, store, wanted), sessions, jobs=jobs)
        return
    with open_store(store, create=False) as log:
        for session in sessions:
            yield audited_in(log, session, wanted)


def audited_in(log: LmdbLog, session: str, wanted: Wanted) -> Audited:
    """Audit a session of an open store. What is wrong with the session, or with refold, is told, not raised."""
    try:
        found = audit_of(log, session, wanted)
    except RefoldError as error:
        return _without(session, str(error))
    except Exception as error:  # noqa: BLE001  the other sessions are worth as much
        return _without(session, f"a fault of refold's ({type(error).__name__}: {error}); the others go on")
    return Audited(
        session=session,
        row=None if wanted.is_json else row_of(found),
        encoded=json_bytes(found) if wanted.is_json else None,
        problems=tuple(breaches(found, wanted.bounds)),
    )


def audit_of(
    log: LmdbLog, session: str, wanted: Wanted, *, leaf: Leaf = None, as_of: int | None = None
) -> Audit:
    """The audit of a session. Raises NotFoundError, and CorruptionError where it fails for bytes that changed."""
    try:
        return audit(
            log,
            session,
            leaf=leaf,
            as_of=as_of,
            every_branch=wanted.every_branch,
            tokens=counter(wanted.counter, log=log),
            prices=wanted.prices,
        )
    except RefoldError:
        raise
    except Exception:
        # Damaged bytes fail in any way there is. Where none are damaged, it is a fault of refold.
        with log.snapshot() as snapshot:
            _check_events(snapshot, session)
        raise


def _check_events(snapshot: Snapshot, session: str) -> None:
    for seq in range(1, snapshot.head(session).version + 1):
        try:
            check_event(snapshot, session, seq)
        except RefoldError:
            raise
        except Exception as error:  # noqa: BLE001  damaged bytes fail in any way there is
            raise CorruptionError(session, seq, f"it cannot be read ({type(error).__name__})") from None


def _without(session: str, problem: str) -> Audited:
    return Audited(session=session, problems=(f"no audit of session {session!r}: {problem}",))


def _by_worker(store: str, wanted: Wanted, session: str) -> Audited:
    try:
        log = _opened(store)
    except RefoldError as error:
        return _without(session, str(error))
    return audited_in(log, session, wanted)


@cache
def _opened(store: str) -> LmdbLog:
    """The store, open as long as the process lives."""
    return open_store(store, create=False)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
