"""Do to a shared store in PostgreSQL what a role with the documented rights can do, and look at it as the owner."""

from __future__ import annotations

import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest.mock import patch

from bench.faults import NotHereError, Outcome, tried
from eventstore import import_file, open_store
from eventstore.errors import RefoldError
from tests.cli import long_talk
from tests.cli.running import Refold
from tests.support.events import event, message
from tests.support.postgres import Server, missing, new_server, remove

_PAGE: Final = Path(__file__).parents[2] / "docs/deploy.md"
_LONGEST: Final = 120.0
"""Seconds that the owner's commands and append may take after an attack."""
_COMMANDS: Final = (
    ("sessions",),
    ("search", "parser"),
    ("stats",),
    ("verify",),
    ("audit", "--all"),
    ("push", "COPY"),
    ("sync", "FILE"),
)


@contextmanager
def server_here() -> Iterator[Server]:
    """Run a server of the attack's own."""
    if why := missing():
        raise NotHereError(why)
    server = new_server()
    try:
        yield server
    finally:
        remove(server)


def hostile_roles(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Attack a new store each time; the owner's own session stays readable, and every command has an answer."""
    with server_here() as server:
        file = long_talk.write(folder / "talk.jsonl")
        name = "agents"
        _sql(server.url(), f"CREATE ROLE {name} LOGIN")
        while True:
            url = server.new_store()
            schema = url.rpartition("%3D")[2]
            with open_store(url) as log:
                session = import_file(log, file).id
            grants = _PAGE.read_text().split("```sql\n")[1].split("```")[0]
            _sql(url, *grants.replace("SCHEMA public", f"SCHEMA {schema}").split(";")[:-1])
            refold = Refold(folder / "store")
            refold.store = url  # type: ignore[assignment]
            act = dice.choice(_ACTS)
            yield tried(
                act.__name__.strip("_").replace("_", " "),
                lambda act=act, refold=refold, session=session: _try(dice, folder, act, refold, session),
            )
            shutil.rmtree(folder / "copy", ignore_errors=True)
            _sql(server.url(), f"DROP SCHEMA {schema} CASCADE")


def _try(dice: Random, folder: Path, act: Act, refold: Refold, session: str) -> None:
    url = str(refold.store)
    before = refold("audit", session, "--json").out
    began = time.monotonic()
    has_damaged = act(dice, url.replace("refold@", "agents@"), session)
    with chdir(folder):
        for arguments in dice.sample(_COMMANDS, 4):
            words = [{"COPY": "copy", "FILE": "talk.jsonl"}.get(each, each) for each in arguments]
            ended = refold(*words, code=None)
            assert ended.code != 70, f"{arguments}: {ended.errors}"
    if not has_damaged:
        assert refold("audit", session, "--json").out == before, "the owner's audit has changed"
        with open_store(url) as log:
            assert log.append("own", [message("own")]).added == 1
    assert time.monotonic() - began < _LONGEST, "the owner had to wait"


def _sql(url: str, *statements: str | tuple[str, Any]) -> None:
    import psycopg  # noqa: PLC0415  an extra

    with psycopg.connect(url, autocommit=True) as connection:
        for each in statements:
            text, given = each if isinstance(each, tuple) else (each, ())
            connection.execute(text.encode(), given)


def _forged_results(dice: Random, url: str, session: str) -> bool:
    """Let the role compute what the owner does, forge its rows, and offer them as the owner's."""
    agent = Refold(Path(f"/nowhere/{session}"))
    agent.store = url  # type: ignore[assignment]
    agent("audit", session)
    with open_store(url, create=False) as log:
        log.keep([(dice.randbytes(8), _bomb())])
    _sql(url, ("UPDATE derived SET value = %b", (dice.choice([dice.randbytes(99), _bomb(), b"", b"{}"]),)))
    try:
        _sql(url, "UPDATE derived SET role = 'refold'")
    except Exception:  # noqa: BLE001  it is refused
        # The role's own commands have an answer, too.
        assert agent("audit", session, code=None).code != 70
        return False
    raise AssertionError("a role has written results for another")


@cache
def _bomb() -> bytes:
    """Return what unpacks to a thousand times as much, half a gigabyte."""
    deflate, piece = zlib.compressobj(1), bytes(1 << 20)
    return b"".join(deflate.compress(piece) for _ in range(1 << 9)) + deflate.flush()


def _bodies_that_are_no_JSON(dice: Random, url: str, session: str) -> bool:  # noqa: ARG001, N802
    """Append events past the checks of the library."""
    bodies = [
        b"{",
        b"",
        b"[1]",
        b"\xff\xfe",
        b"nul",
        b"[" * 100_000,
        dice.randbytes(99),
        b'{"a":1e9999}',
        b'"\\ud800"',
    ]
    with (
        patch("eventstore.postgres.postgres_log.check_events"),
        open_store(url, create=False) as log,
    ):
        for number in range(3):
            new = message("m") if dice.random() < 0.5 else event("m")
            new = new.__class__(**{**_fields(new), "body": dice.choice(bodies)})
            try:
                log.append(f"odd-{number}", [new])
            except (RefoldError, ValueError, RecursionError, UnicodeError):
                continue
    return False


def _fields(new: Any) -> dict[str, Any]:
    return {name: getattr(new, name) for name in new.__struct_fields__}


def _damaged_rows(dice: Random, url: str, session: str) -> bool:  # noqa: ARG001
    """Write nonsense wherever the role may."""
    nonsense = dice.choice([b"", b"\0", dice.randbytes(40), dice.randbytes(4000)])
    name = dice.choice([b"x", b"", b"\0", dice.randbytes(40), dice.randbytes(2000)])
    _sql(
        url,
        dice.choice(
            [
                ("UPDATE sessions SET head = %b", (nonsense,)),
                ("UPDATE sessions SET leaf = %s, bytes = -5", (dice.randrange(-5, 1 << 40),)),
                ("UPDATE store SET position = %s", (dice.randrange(1 << 40),)),
                ("UPDATE store SET sessions = %s", (dice.randrange(1 << 30),)),
                ("INSERT INTO sources VALUES (%b, %b)", (dice.randbytes(32), nonsense)),
                ("INSERT INTO blobs VALUES (%b, %b)", (dice.randbytes(32), nonsense)),
                ("INSERT INTO events VALUES (1, 999, 999, 0, 1, %b, %b)", (name, nonsense)),
                ("INSERT INTO sessions VALUES (77, %b, 1, 1, 1, %b)", (name, nonsense)),
            ]
        ),
    )
    return True


def _advisory_locks(dice: Random, url: str, session: str) -> bool:
    """Hold the locks that somebody may expect a writer to take."""
    import psycopg  # noqa: PLC0415  an extra

    held = psycopg.connect(url)
    _HELD[:] = [held]
    for text in (session, "own", "s"):
        held.execute(b"SELECT pg_advisory_lock(hashtextextended(%s, 0))", (text,))
    held.execute(
        b"SELECT pg_advisory_lock(x'7265666F6C64'::bigint), pg_advisory_lock(%s)", (dice.randrange(9),)
    )
    return False


_HELD: list[Any] = []
"""The connection of the last role that holds locks: it stays open until the next one."""

Act = Callable[[Random, str, str], bool]
"""An act of a role at an address against a session: True if it has damaged rows, as it may."""
_ACTS: Final[tuple[Act, ...]] = (_forged_results, _bodies_that_are_no_JSON, _damaged_rows, _advisory_locks)
