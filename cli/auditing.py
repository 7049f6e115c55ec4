"""Audit sessions, print results as they arrive, and refuse conditions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial

import msgspec

from cli.each_session import each_session
from cli.main import TRACEBACK
from cli.output import (
    console,
    echo_note,
    echo_problem,
    json_bytes,
    json_list,
    paged,
    progress_bar,
    safe_line,
)
from cli.views.model import AuditView, SessionRow, audit_view
from cli.views.screen import print_sessions
from cli.views.texts import failure_text
from eventstore.checked import check_event
from eventstore.errors import CorruptionError, NotFoundError, RefoldError, StoreError
from eventstore.log import Snapshot, StoredLog
from projections.audit.conditions import Condition
from projections.audit.prices import Prices
from projections.audit.readings import Weight
from projections.audit.session import Audit, RewriteAudit
from projections.audit.stored_audit import stored_audit
from projections.context.cursor import Leaf
from projections.tokens import counter


def breaches(view: AuditView, fail_on: Collection[Condition]) -> Iterator[str]:
    """Yield a line for every condition to refuse that holds; skips undone replacements."""
    for each in view.counting:
        for remark in each.remarks:
            if remark.condition in fail_on:
                yield f"session {view.audit.session!r}, {each.name} ({each.result.id} #{each.seq}): {remark.text}"
    for failed in view.audit.failed_compactions if Condition.FAILED in fail_on else ():
        yield f"session {view.audit.session!r}: a compaction failed at #{failed.seq}: {safe_line(failed.error)}"

    for read in view.audit.readings if Condition.SERIOUS in fail_on else ():
        for loss in read.shown_losses:
            if loss.weight is Weight.SERIOUS:
                what = f"{loss.loss} (#{loss.known[0].seq}, #{loss.trouble[0].seq})"
                yield f"session {view.audit.session!r}, serious loss: {safe_line(what)}"


def unread(view: AuditView, fail_on: Collection[Condition]) -> list[str]:
    """Return a line if a gate on losses passed boundaries that no model has read."""
    read = {each.boundary for each in view.audit.readings}
    left = [
        f"{each.name} ({each.result.id} #{each.seq})"
        for each in view.counting
        if not isinstance(each.result, RewriteAudit) and each.result.id not in read
    ]
    if Condition.SERIOUS not in fail_on or not left:
        return []
    return [f"session {view.audit.session!r}: not judged: {', '.join(left)}"]


class AuditOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an audit, and whether to return JSON or a table row."""

    counter: str = "utf16/4"
    prices: Prices | None = None
    fail_on: tuple[Condition, ...] = ()
    is_json: bool = False


class AuditResult(msgspec.Struct, frozen=True, kw_only=True):
    """Hold a session's audit as a row or as JSON, neither if it failed, and lines beside it."""

    session: str
    row: SessionRow | None = None
    encoded: bytes | None = None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def try_audit(log: StoredLog, session: str, wanted: AuditOptions) -> AuditResult:
    """Audit a session of an open store; return any error as a problem, but raise StoreError."""
    try:
        view = audit_view(audit_session(log, session, wanted))
    except StoreError:
        raise
    except RefoldError as error:
        return _failed(session, str(error))
    except Exception as error:  # noqa: BLE001  the other sessions must still be audited
        return _failed(
            session, f"a bug in refold ({type(error).__name__}: {error}); the other sessions continue"
        )
    return AuditResult(
        session=session,
        row=None if wanted.is_json else view.row,
        encoded=json_bytes(view.audit) if wanted.is_json else None,
        problems=(
            *(f"session {session!r}: {failure_text(each)}" for each in view.audit.not_computed),
            *breaches(view, wanted.fail_on),
        ),
        notes=tuple(unread(view, wanted.fail_on)),
    )


def audit_session(log: StoredLog, session: str, wanted: AuditOptions, *, leaf: Leaf = None) -> Audit:
    """Return the audit of a session.

    Raises NotFoundError, and CorruptionError if damaged bytes make it fail.
    """
    try:
        audit = stored_audit(
            log,
            session,
            leaf=leaf,
            tokens=counter(wanted.counter, log=log),
            prices=wanted.prices,
        )
    except Exception as error:
        # Damaged bytes can fail in any way, and name events that are not there.
        if isinstance(error, NotFoundError) or not isinstance(error, RefoldError):
            with log.snapshot() as snapshot:
                _check_events(snapshot, session)
        raise
    echo_tracebacks(audit)
    return audit


def echo_tracebacks(audit: Audit) -> None:
    """Print on stderr where what could not be computed failed, if the user asks for it."""
    if os.environ.get(TRACEBACK):
        for each in audit.not_computed:
            sys.stderr.write(each.traceback)


def _check_events(snapshot: Snapshot, session: str) -> None:
    for seq in range(1, snapshot.head(session).version + 1):
        try:
            check_event(snapshot, session, seq)
        except RefoldError:
            raise
        except Exception as error:  # noqa: BLE001  damaged bytes can fail in any way
            raise CorruptionError(session, seq, f"it cannot be read ({type(error).__name__})") from None


def _failed(session: str, problem: str) -> AuditResult:
    return AuditResult(session=session, problems=(f"session {session!r} cannot be audited: {problem}",))


Show = Callable[[AuditResult], None]


def show_audits(store: str, sessions: Sequence[str], wanted: AuditOptions) -> bool:
    """Audit sessions and print them, with problems on stderr; return True if there were none.

    Each is audited as of one moment. Only the table row of a printed session is kept. Raises StoreError, and
    ClickException if a process is killed.
    """
    is_sound = True
    found = each_session(store, sessions, partial(try_audit, wanted=wanted))
    with _json() if wanted.is_json else _table() as show, closing(found), _progress(wanted) as advance:
        for done, each in enumerate(found, 1):
            advance(done, len(sessions))
            show(each)
            for line in each.notes:
                echo_note(line)
            for line in each.problems:
                echo_problem(line)
                is_sound = False
    return is_sound


@contextmanager
def _json() -> Iterator[Show]:
    """Print each audit as it arrives."""
    with json_list("sessions") as add:

        def show(each: AuditResult) -> None:
            if each.encoded is not None:
                add(each.encoded)

        yield show


@contextmanager
def _table() -> Iterator[Show]:
    """Collect a row for each audit, and print all rows at the end."""
    rows: list[SessionRow] = []

    def show(each: AuditResult) -> None:
        if each.row is not None:
            rows.append(each.row)

    yield show
    out = console()
    with paged(out):
        print_sessions(out, rows)


def _progress(wanted: AuditOptions) -> AbstractContextManager[Callable[[int, int], None]]:
    """Return a progress bar, but not when JSON goes to a terminal."""
    if wanted.is_json and sys.stdout.isatty():
        return nullcontext(lambda _done, _total: None)
    return progress_bar("auditing")
