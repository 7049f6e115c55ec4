"""refold append."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from eventstore.event import NewEvent
    from eventstore.log import StoredLog


@click.command(
    "append",
    epilog="""\b
Example:  echo '{"type":"session_info","name":"First"}' |
          refold append my-session --expected 0""",
)
@click.argument("session")
@click.option(
    "--expected",
    type=click.IntRange(0),
    metavar="N",
    help="The session's version before the first line; 0 for a new session.",
)
@click.pass_context
def command(ctx: click.Context, session: str, *, expected: int | None) -> None:
    """Append events from standard input, one JSON object per line.

    Each line is acknowledged when it is on disk. SESSION is @last or a complete id; if there is no such
    session, the first line creates it; the beginning of another session's id needs --expected 0. A line is an
    entry in pi's shape: {"type":"message","message":{...}}; "id", "parentId", "timestamp" and "cause" are
    optional. An acknowledgement is {"line","id","seq","version","added"}. With --expected, the session must
    be at that version, and each line expects the version that the previous one made. The first line that
    fails ends the command with exit code 1; lines acknowledged before it are stored.
    """
    from cli.store import opened
    from eventstore.errors import BadInputError, RefoldError

    with opened(ctx, create=True) as log:
        version = expected
        session = _named(log, session, is_new=expected == 0)
        for number, line in enumerate(sys.stdin.buffer, 1):
            if line.strip():
                try:
                    acknowledgement = _append(log, session, line, number, version)
                except BadInputError:
                    raise
                except RefoldError as error:
                    raise click.ClickException(f"standard input:{number}: {error}") from error
                version = None if version is None else acknowledgement["version"]
                _acknowledge(acknowledgement)


def _named(log: StoredLog, name: str, *, is_new: bool) -> str:
    """Return a session's id, given it or `@last`.

    Raises BadInputError for the beginning of another id, unless the session is to be new.
    """
    from cli.store import begin_with, resolve_session
    from eventstore.append import check_session_id
    from eventstore.errors import BadInputError

    if name == "@last":
        return resolve_session(log, name)
    check_session_id(name)
    with log.snapshot() as snapshot:
        names = [] if is_new else [head.name for head in snapshot.heads()]
    # A new session of this name would take it over: a whole id goes before a beginning.
    if name not in names and (found := begin_with(name, names)):
        problem = f"it is only the beginning of session {found[0]!r}"
        raise BadInputError(
            f"session {name!r}", problem, "give the whole id, or --expected 0 for a new session"
        )
    return name


def _append(log: StoredLog, session: str, line: bytes, number: int, expected: int | None) -> dict[str, Any]:
    from eventstore.event import epoch_milliseconds, random_id
    from eventstore.harnesses.refold.events import event_of_line

    event = event_of_line(line, number=number, clock=epoch_milliseconds, new_id=random_id)
    _check_target(log, session, event, number)
    appended = log.append(session, [event], expected="any" if expected is None else expected)
    with log.snapshot() as snapshot:
        seq = snapshot.locate(session, event.id)
    return {"line": number, "id": event.id, "seq": seq, "version": appended.version, "added": appended.added}


def _check_target(log: StoredLog, session: str, event: NewEvent, number: int) -> None:
    """Refuse an event that points at a missing one: a compaction would keep nothing."""
    from eventstore.errors import BadInputError, NotFoundError

    target = event.facts.target
    if target is None:
        return
    with log.snapshot() as snapshot:
        try:
            is_there = snapshot.locate(session, target) > 0
        except NotFoundError:
            is_there = False
    if not is_there:
        problem = f"the session has no event {target!r}"
        raise BadInputError("standard input", problem, "name an earlier event", line=number)


def _acknowledge(acknowledgement: dict[str, Any]) -> None:
    from cli.output import echo_json

    echo_json(acknowledgement)
    sys.stdout.buffer.flush()
