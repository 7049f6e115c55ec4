"""Stores in PostgreSQL: tables, roles, connections. Promises of every log are tested in tests/conformance."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs refold[postgres]")

import psycopg
from hypothesis import given
from hypothesis import strategies as st

import refold
from eventstore import EventLog, is_store, open_store
from eventstore.addresses import without_password
from eventstore.errors import CorruptionError, StoreError
from eventstore.frame import decode
from eventstore.paths import event
from eventstore.postgres.connections import LIMITS, connect
from eventstore.postgres.reading import PostgresSnapshot
from eventstore.transfer import transfer
from eventstore.verify import verify
from projections.audit.session import audit
from tests.cli.listing_commands import COMMANDS, costs_a_line
from tests.cli.running import Refold
from tests.support import claude_code
from tests.support.events import events, message
from tests.support.homes import a_home
from tests.support.patience import PATIENCE
from tests.support.postgres import Server, new_server, remove
from tests.support.processes import output_of
from tests.support.stores import make_store

TABLES = "store, sessions, events, blobs, derived, sources"


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.new_store()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that a test may end."""
    server = new_server()
    yield server
    remove(server)


FORK = """
import sys
from eventstore import open_store
from eventstore.errors import StoreError
from tests.support.crowd import at_once, tell
from tests.support.events import message
log = open_store(sys.argv[1])
log.append("s", [message("a")])
def use(_):
    for use in (lambda: log.append("s", [message("b")]), lambda: log.snapshot().__enter__()):
        try:
            use()
        except StoreError as error:
            tell("fork" in error.problem)
    log.close()
    with open_store(sys.argv[1]) as mine:
        tell(mine.append("s", [message("b")]).version)
at_once(1, use)
tell(log.append("s", [message("c")]).version)
"""


def sql(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, as a traceback shows them."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def ids(log: EventLog) -> list[str]:
    return [found.id for found in events(log, "s")]


class TestOpening:
    def test_a_store_is_made_only_if_asked(self, url: str) -> None:
        with pytest.raises(StoreError, match="no store exists"):
            open_store(url, create=False)
        assert not is_store(url)
        open_store(url).close()
        assert is_store(url)
        open_store(url, create=False).close()

    @pytest.mark.parametrize(
        "address",
        [
            "me:secret@/db?host=HERE&password=secret&sslpassword=secret",
            "me:my:secret@/db?host=HERE",
            "me:my%zzsecret@/db?host=HERE",
            "me:my@secret@/db?host=HERE",
            "me:my#secret@/db?host=HERE",
            "me:my/secret@/db?host=HERE",
            "me:my?secret@/db?host=HERE",
            "me:my/se?secret@/db?host=HERE",
            "me:my?se/secret@/db?host=HERE",
            "me@/db?host=HERE&PASSWORD=secret",
            "me@/db?host=HERE&password=my%zzsecret",
        ],
    )
    def test_a_server_that_does_not_answer_is_named_without_its_password(
        self, tmp_path: Path, address: str
    ) -> None:
        with pytest.raises(StoreError) as caught:
            open_store(f"postgresql://{address.replace('HERE', str(tmp_path))}")
        assert "secret" not in "".join(map(str, chained(caught.value)))
        assert str(tmp_path) in caught.value.path

    @pytest.mark.parametrize(
        "address",
        [
            "postgresql:me:secret@h/db",
            "postgresql+psycopg://me:secret@h/db",
            "POSTGRESQL://me:secret@h/db",
            "mysql://me:secret@h/db",
            "host=h password=secret dbname=db",
            "host=h password = secret",
        ],
    )
    def test_an_address_of_another_kind_is_no_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(StoreError, match="postgresql://") as caught:
            open_store(address)
        assert "secret" not in str(caught.value)
        assert not list(tmp_path.iterdir())

    @pytest.mark.slow
    def test_a_server_that_says_nothing_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(LIMITS, "connect_timeout", 2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            with pytest.raises(StoreError, match="timeout"):
                open_store(f"postgresql://me@127.0.0.1:{port}/db")

    def test_an_address_without_a_password_is_shown_whole(self) -> None:
        for address in (
            "postgresql://me@h1:1,[::1]:2/db?host=a",
            "postgresql://127.0.0.1/db?user=a@b",
            "postgresql://127.0.0.1:5432/db?user=a@b",
            "postgresql://me@h:5432/db?sslmode=require&application_name=a@b",
        ):
            assert without_password(address) == address

    def test_a_password_ends_at_the_last_at(self) -> None:
        assert without_password("postgresql://me:my?port=secret@h/db") == "postgresql://me:…@h/db"
        assert without_password("postgresql://u:a@b?port=1@h") == "postgresql://u:…@h"
        assert without_password("postgresql://u:5/a@h:1/db?host=b") == "postgresql://u:…@h:1/db?host=b"

    def test_an_at_in_a_password_is_refused(self) -> None:
        with pytest.raises(StoreError, match=r"^postgresql://u:…@h/db: its password has an @.*%40"):
            open_store("postgresql://u:my@secret@h/db")

    @given(st.text(min_size=1) | st.lists(st.sampled_from(["@", "?port=", "&", "/", ":", "1"])).map("".join))
    def test_no_password_is_shown(self, text: str) -> None:
        password = f"<{text}>"
        for address in (f"postgresql://u:{password}@h/db", f"host=h password = {password}"):
            assert password not in without_password(address)
        assert password not in without_password(f"postgresql://u@h:1/db?PASSWORD={password}&a=b")

    def test_nothing_that_follows_a_parameters_password_is_shown(self) -> None:
        shown = without_password("postgresql://u@h:1/db?password=my&secret@h&sslmode=require")
        assert shown == "postgresql://u@h:1/db?password=…"

    def test_many_may_make_a_store_at_once(self, url: str) -> None:
        def open_and_append(number: int) -> None:
            with open_store(url) as log:
                log.append("s", [message(f"e{number}")])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(open_and_append, range(8)))
        with open_store(url) as log:
            assert sorted(ids(log)) == [f"e{number}" for number in range(8)]
            assert verify(log).findings == []

    @pytest.mark.parametrize(
        ("change", "said"), [("+ 1", "newer.*update refold"), ("- 1", "older.*sync into it")]
    )
    def test_a_store_of_another_version_is_refused(self, url: str, change: str, said: str) -> None:
        open_store(url).close()
        sql(url, f"UPDATE store SET version = version {change}")  # noqa: S608
        with pytest.raises(StoreError, match=said):
            open_store(url)

    def test_only_the_owner_makes_a_store(self, url: str) -> None:
        name = f"others_{url.rpartition('_')[2]}"
        sql(url, f"CREATE ROLE {name} LOGIN", f"GRANT USAGE ON SCHEMA {url.rpartition('%3D')[2]} TO {name}")
        with pytest.raises(StoreError, match="owner"):
            open_store(url.replace("refold@", f"{name}@"))

    def test_names_of_later_schemas_mean_nothing(self, url: str) -> None:
        own, other = url.rpartition("%3D")[2], f"{url.rpartition('%3D')[2]}_other"
        sql(url, f"CREATE SCHEMA {other}")
        with open_store(url.replace(own, other)) as log:
            log.append("s", [message("a")])
        with pytest.raises(StoreError, match="no store"):
            open_store(f"{url},{other}", create=False)

    def test_a_snapshot_reads_nothing_after_its_block(self, url: str) -> None:
        with open_store(url) as log:
            log.append("s", [message("a")])
            with log.snapshot() as snapshot:
                pass
            with log.snapshot(), pytest.raises(StoreError):
                snapshot.heads()

    def test_the_cache_of_a_database_is_its_own_and_the_same_with_another_password(self, url: str) -> None:
        folders = []
        for part in ("password=one", "password=two", "application_name=one"):
            with open_store(f"{url}&{part}") as log:
                folders.append(log.folder)
        assert folders[0] == folders[1] != folders[2]

    def test_a_closed_store_says_so(self, url: str) -> None:
        with open_store(url) as log, log.snapshot() as snapshot:
            log.append("s", [message("a")])
            log.close()
            assert list(snapshot.heads()) == []
            with pytest.raises(StoreError, match="closed"):
                log.append("s", [message("b")])


class TestRoles:
    def test_a_role_of_agents_appends_and_reads_and_can_change_no_event(self, url: str) -> None:
        open_store(url).close()
        name = f"agents_{url.rpartition('_')[2]}"
        own_schema = url.rpartition("%3D")[2]
        page = Path(__file__).parents[2] / "docs/deploy.md"
        grants = page.read_text().split("```sql\n")[1].split("```")[0]
        sql(
            url,
            f"CREATE ROLE {name} LOGIN",
            *grants.replace("SCHEMA public", f"SCHEMA {own_schema}").replace("agents", name).split(";")[:-1],
        )
        as_agent = url.replace("refold@", f"{name}@")
        with open_store(as_agent, create=False) as log:
            log.append("s", [message("a"), message("b")], blobs=[b"blob"])
            log.keep([(b"k", b"v")])
            assert ids(log) == ["a", "b"]
        for refused in (
            "UPDATE events SET seq = 9",
            "DELETE FROM events",
            "DELETE FROM blobs",
            "TRUNCATE events",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                sql(as_agent, refused)

    def test_no_role_sees_what_another_cached(self, url: str) -> None:
        name, own_schema = f"caching_{url.rpartition('_')[2]}", url.rpartition("%3D")[2]
        with open_store(url) as log:
            sql(
                url,
                f"CREATE ROLE {name} LOGIN",
                f"GRANT USAGE ON SCHEMA {own_schema} TO {name}",
                f"GRANT SELECT, INSERT, UPDATE ON {TABLES} TO {name}",
            )
            as_other = url.replace("refold@", f"{name}@")
            with open_store(as_other, create=False) as other:
                other.keep([(b"k", b"forged")])
                with other.snapshot() as snapshot:
                    assert snapshot.derived(b"k") == b"forged"
            with log.snapshot() as snapshot:
                assert snapshot.derived(b"k") is None
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                sql(as_other, "INSERT INTO derived (role, key, value) VALUES ('refold', 'k', 'forged')")

    def test_a_schema_where_all_may_create_is_refused(self, url: str) -> None:
        open_store(url).close()
        sql(url, f"GRANT CREATE ON SCHEMA {url.rpartition('%3D')[2]} TO PUBLIC")
        with pytest.raises(StoreError, match="every role may create functions"):
            open_store(url)

    def test_a_role_that_only_reads_cannot_append_and_caches_nothing(self, url: str) -> None:
        with open_store(url) as log:
            log.append("s", [message("a")])
        name = f"readers_{url.rpartition('_')[2]}"
        own_schema = url.rpartition("%3D")[2]
        sql(
            url,
            f"CREATE ROLE {name} LOGIN",
            f"GRANT USAGE ON SCHEMA {own_schema} TO {name}",
            f"GRANT SELECT ON {TABLES} TO {name}",
        )
        with open_store(url.replace("refold@", f"{name}@"), create=False) as log:
            assert ids(log) == ["a"]
            log.keep([(b"k", b"v")])
            with pytest.raises(StoreError, match="privilege"):
                log.append("s", [message("b")])
            with log.snapshot() as snapshot:
                assert snapshot.derived(b"k") is None


class TestDamage:
    @pytest.mark.parametrize(
        "damage",
        [
            "UPDATE events SET frame = overlay(frame PLACING 'x'::bytea FROM octet_length(frame)) WHERE seq = 2",
            "DELETE FROM events WHERE seq = 2",
            "UPDATE events SET id = 'other' WHERE seq = 2",
            "UPDATE events SET position = 99 WHERE seq = 2",
        ],
    )
    def test_verify_finds_a_row_that_was_changed(self, url: str, damage: str) -> None:
        with open_store(url) as log:
            log.append("s", [message("a"), message("b"), message("c")])
            sql(url, damage)
            assert verify(log).findings != []

    @pytest.mark.parametrize(
        "frame", [b"", b"\0", b"\3\1", bytes(range(200, 240)), bytes(range(100, 200)) * 40]
    )
    def test_a_row_of_noise_ends_no_command(self, url: str, frame: bytes) -> None:
        with open_store(url) as log:
            log.append("s", [message("a", "the parser")])
        sql(url, f"INSERT INTO events VALUES (1, 99, 99, 0, 1, 'x', '\\x{frame.hex()}')")  # noqa: S608
        refold = Refold(Path("/nowhere"))
        refold.store = url  # type: ignore[assignment]
        assert "the parser" in refold("search", "parser").out
        for command in ("sessions", "stats", "audit --all"):
            refold(*command.split())
        assert refold("verify", code=1).errors == ""

    @pytest.mark.parametrize("command", COMMANDS)
    @pytest.mark.parametrize(
        "row",
        [
            "SELECT 9, '\\xff', position, leaf, bytes, head FROM sessions",
            "SELECT 9, 'other', position, leaf, bytes, head FROM sessions",
            "VALUES (9, '\\xff', 1, 1, 1, '')",
            "VALUES (9, 'other', 1, 1, 1, 'noise')",
        ],
    )
    def test_a_session_of_noise_costs_a_line(self, url: str, row: str, command: str, tmp_path: Path) -> None:
        with open_store(url) as log:
            log.append("s", [message("a", "the parser")])
        sql(url, f"INSERT INTO sessions {row}")
        refold = Refold(Path("/nowhere"))
        refold.store = url  # type: ignore[assignment]
        costs_a_line(refold, command, tmp_path)

    def test_events_of_noise_are_searched_around(self, url: str) -> None:
        with open_store(url) as log:
            log.append("s", [message("a", "the parser")])
        sql(
            url,
            "INSERT INTO sessions VALUES (9, '\\xff', 1, 1, 1, '')",
            "INSERT INTO events SELECT 9, 1, 2, 0, 1, 'x', frame FROM events",
        )
        refold = Refold(Path("/nowhere"))
        refold.store = url  # type: ignore[assignment]
        assert "the parser" in refold("search", "parser", code=1).out

    def test_a_frame_of_noise_is_damage(self, url: str) -> None:
        with open_store(url) as log:
            log.append("s", [message("a")])
            sql(url, "UPDATE events SET frame = 'a frame that is far too short'")
            with pytest.raises(CorruptionError, match="truncated"), log.snapshot() as snapshot:
                event(snapshot, "s", 1).kind  # noqa: B018

    def test_a_place_that_is_taken_is_damage(self, url: str) -> None:
        with open_store(url) as log:
            log.append("s", [message("a")])
            sql(url, "UPDATE events SET seq = 2, id = 'b'")
            with pytest.raises(CorruptionError):
                log.append("s", [message("c", parent=None)])


class TestConnections:
    @pytest.mark.slow
    def test_a_log_goes_on_after_the_server_has_restarted(self, own_server: Server) -> None:
        with open_store(own_server.new_store()) as log:
            log.append("s", [message("a")])
            assert ids(log) == ["a"]
            own_server.stop()
            own_server.start()
            assert ids(log) == ["a"]
            own_server.stop()
            own_server.start()
            log.append("s", [message("b")])
            assert ids(log) == ["a", "b"]

    @pytest.mark.slow
    def test_all_idle_connections_are_replaced_after_the_server_has_restarted(
        self, own_server: Server
    ) -> None:
        with open_store(own_server.new_store()) as log:
            with ExitStack() as stack:
                for _ in range(8):
                    stack.enter_context(log.snapshot())
            own_server.stop()
            own_server.start()
            log.append("s", [message("a")])
            assert ids(log) == ["a"]

    def test_a_connection_that_is_given_back_serves_a_thread_that_waits(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("eventstore.postgres.connections.MAX_CONNECTIONS", 2)
        with open_store(url) as log, ThreadPoolExecutor(1) as pool:
            with log.snapshot(), log.snapshot():
                waiting = pool.submit(log.append, "s", [message("a")])
                with pytest.raises(TimeoutError):
                    waiting.result(0.2)
            assert waiting.result(PATIENCE).added == 1

    @pytest.mark.slow
    def test_a_thread_that_waits_in_vain_says_what_to_close(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("eventstore.postgres.connections.MAX_CONNECTIONS", 1)
        monkeypatch.setattr("eventstore.postgres.connections._WAIT", 0.2)
        with (
            open_store(url) as log,
            log.snapshot(),
            pytest.raises(StoreError, match=r"in use.*close open snapshots"),
        ):
            log.append("s", [message("a")])

    @pytest.mark.slow
    def test_a_store_is_refused_after_a_fork_and_may_be_opened_anew(self, url: str) -> None:
        assert output_of(FORK, url).split() == ["True", "True", "2", "3"]

    @pytest.mark.slow
    def test_a_server_that_is_gone_is_an_error_of_the_store(self, own_server: Server) -> None:
        with open_store(own_server.new_store()) as log:
            log.append("s", [message("a")])
            own_server.stop()
            with pytest.raises(StoreError), log.snapshot():
                pass

    @pytest.mark.slow
    def test_each_of_two_stores_has_its_own_errors(self, url: str, own_server: Server) -> None:
        with (
            open_store(own_server.new_store()) as gone,
            open_store(url) as log,
            gone.snapshot() as one,
            log.snapshot(),
        ):
            own_server.stop()
            with pytest.raises(StoreError) as caught, log.snapshot():
                list(one.heads())
            assert caught.value.path == gone.place

    def test_an_error_of_another_connection_is_not_the_log_s(self, url: str) -> None:
        with open_store(url) as log, pytest.raises(psycopg.errors.SyntaxError), log.snapshot():
            sql(url, "SELEKT")

    def test_a_command_makes_one_connection(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        open_store(url).close()
        made: list[str] = []
        monkeypatch.setattr(
            "eventstore.postgres.connections.connect", lambda url: made.append(url) or connect(url)
        )
        with open_store(url) as log:
            log.append("s", [message("a")])
            assert ids(log) == ["a"]
        assert len(made) == 1

    @pytest.mark.long
    def test_a_thousand_sessions_are_written_at_once(self, url: str) -> None:
        with open_store(url) as log, ThreadPoolExecutor(64) as pool:
            for round_ in range(2):
                writes = [
                    pool.submit(log.append, f"s{number}", [message(f"e{round_}")]) for number in range(1000)
                ]
                for write in writes:
                    assert write.result().added == 1
            with log.snapshot() as snapshot:
                assert [item.position for item in snapshot.feed()] == list(range(1, 2001))
            assert verify(log).findings == []

    def test_a_server_that_vanishes_is_noticed_unless_the_address_says_when(self, url: str) -> None:
        with connect(f"{url}&keepalives_idle=77") as connection:
            used = connection.info.get_parameters()
        assert used.items() >= {"keepalives_idle": "77", "tcp_user_timeout": "25000"}.items()


class TestRoundTrips:
    @pytest.mark.slow
    def test_an_audit_takes_a_few_however_long_the_session_is(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_store(tmp_path / "folder", 1, messages=400)
        asked: list[str] = []
        execute = psycopg.Connection.execute

        def counted(connection: psycopg.Connection, query: bytes, *arguments: Any, **options: Any) -> Any:
            asked.append(str(query))
            return execute(connection, query, *arguments, **options)

        with open_store(tmp_path / "folder") as source, open_store(url) as log:
            transfer(source, log)
            monkeypatch.setattr(psycopg.Connection, "execute", counted)
            with log.snapshot() as snapshot:
                found = audit(snapshot, "session-00000")
            assert len(asked) <= 5, asked
            with source.snapshot() as snapshot:
                assert audit(snapshot, "session-00000") == found

    def test_an_import_takes_as_many_however_many_sessions_there_are(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []
        execute = psycopg.Connection.execute

        def counted(connection: psycopg.Connection, query: bytes, *arguments: Any, **options: Any) -> Any:
            asked.append(str(query))
            return execute(connection, query, *arguments, **options)

        monkeypatch.setattr(psycopg.Connection, "execute", counted)
        with open_store(url) as log:
            counts = []
            for number in range(12):
                asked.clear()
                first = claude_code.said(f"u-{number}", None, "hi", sessionId=f"s-{number}")
                claude_code.bring(log, tmp_path / f"s-{number}.jsonl", first)
                counts.append(len(asked))
        assert counts[-1] == counts[1], counts

    def test_one_event_of_a_large_session_is_read_without_the_others(self, url: str) -> None:
        with open_store(url) as log:
            log.append("s", [message(f"e{number}", "x" * 10_000) for number in range(1, 101)])
            with log.snapshot() as snapshot:
                assert isinstance(snapshot, PostgresSnapshot)
                snapshot.frame("s", 50)
                assert list(snapshot._sessions["s"].frames) == [50]
                for number in (1, 100, 51):
                    snapshot.frame("s", number)
                # By now it would have cost less to read the session whole.
                assert len(snapshot._sessions["s"].frames) == 100


class TestMemory:
    def test_frames_that_are_read_again_with_their_session_count_once(self, url: str) -> None:
        with open_store(url) as log:
            log.append("s", [message(f"e{number}", "x" * 100_000) for number in range(1, 9)])
            with log.snapshot() as snapshot:
                assert isinstance(snapshot, PostgresSnapshot)
                known = []
                for number in (1, 3, 5, 7, 2):
                    snapshot.frame("s", number)
                    frames = snapshot._sessions["s"].frames
                    assert snapshot._kept == sum(map(len, frames.values()))
                    known.append(len(frames))
                assert known[0] == 1
                assert known[-1] == 8

    def test_sessions_that_do_not_fit_together_are_read_in_turn(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("eventstore.postgres.reading._KEPT", 5_000)
        with open_store(url) as log:
            for session in ("a", "b"):
                log.append(session, [message(f"{session}{number}", "x" * 1_000) for number in range(3)])
            with log.snapshot() as snapshot:
                turns = zip(snapshot.frames("a"), snapshot.frames("b"), strict=True)
                assert [[decode(frame, "").id for frame in turn] for turn in turns] == [
                    ["a0", "b0"],
                    ["a1", "b1"],
                    ["a2", "b2"],
                ]


class TestCommands:
    def test_commands_and_the_library_take_an_address(self, url: str, tmp_path: Path) -> None:
        with refold.open(url) as store:
            session = store.new("talk")
            session.append({"role": "user", "content": "Hello"})
        command = Refold(tmp_path / "store")
        command.store = url  # type: ignore[assignment]
        assert command("sessions", "--json").json["sessions"][0]["id"] == "talk"
        assert "Hello" in command("context", "talk").out
        assert command("verify", "--json").json["findings"] == []
        assert command("stats", "--json").json["store"] == url
        assert command("search", "hello", "--json").json["hits"][0]["session"] == "talk"
        command("backup", tmp_path / "copy", code=1)
        assert not (tmp_path / "copy").exists()

    def test_no_command_prints_the_password(self, url: str, tmp_path: Path) -> None:
        command, there = Refold(tmp_path / "store"), ("--store", url.replace("refold@", "refold:secret@"))
        said = {"type": "message", "message": {"role": "user", "content": "Hello"}}
        command(*there, "append", "talk", stdin=json.dumps(said))
        for arguments in (["audit", "@last"], ["stats"], ["stats", "--json"], ["log", "@last"]):
            found = command(*there, *arguments)
            assert "secret" not in found.out + found.errors
        assert "secret" not in str(command.refused(StoreError, *there, "demo"))

    @pytest.mark.slow
    def test_sync_remembers_files_and_counts_them_without_importing(self, url: str, tmp_path: Path) -> None:
        command = Refold(tmp_path / "store")
        command.store = url  # type: ignore[assignment]
        home = a_home(tmp_path)
        unchanged = [
            sum(
                each["unchanged"]
                for each in command("sync", "--home", home, "--json", *options).json["projects"]
            )
            for options in (["--dry-run"], [], [], ["--dry-run"])
        ]
        assert unchanged[:2] == [0, 0]
        assert unchanged[2] == unchanged[3] > 10


def test_without_the_extra_one_line_names_it() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from eventstore import StoreError, open_store\n"
        "try:\n    open_store('postgresql://me:secret@h/db')\n"
        "except StoreError as error:\n    print(error)"
    )
    # In a process of its own: modules that are loaded again are not the ones that other tests patch.
    printed = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    ).stdout
    assert re.search(r"psycopg.*refold\[postgres\]", printed)
    assert "secret" not in printed
    assert printed.count("\n") == 1


def test_the_log_in_a_folder_needs_no_package_of_the_extra(tmp_path: Path) -> None:
    script = (
        "import sys; from eventstore import open_store; open_store(sys.argv[1]).close();"
        "assert 'psycopg' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", script, tmp_path / "store"], check=True, cwd=Path(__file__).parents[2]
    )
