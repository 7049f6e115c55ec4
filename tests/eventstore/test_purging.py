"""Purging: a leaked secret is gone from the store, the chain stays whole, and no other copy brings it back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eventstore import export_original, import_file, open_store
from eventstore.chain import body_digest, is_tombstone, shown_of, tombstone
from eventstore.errors import BadInputError, StoreError
from eventstore.event import NewEvent
from eventstore.files.importing import import_sessions
from eventstore.lmdb.store import LmdbLog
from eventstore.log import StoredLog
from eventstore.memory import MemoryLog
from eventstore.purging import Purge, plan_purge, purge, still_held
from eventstore.records import Note
from eventstore.transfer import transfer
from eventstore.verify import verify
from eventstore.writing import SessionWriter
from projections.context.build import build_context
from tests.support import claude_code, opencode
from tests.support.events import NOW, compaction, event, events, message
from tests.support.examples import examples
from tests.support.patience import PATIENCE
from tests.support.pi_files import header, said
from tests.support.postgres import Server

SECRET = 'sk-live "42" ünd/so'  # noqa: S105  it opens nothing
SESSION = "the-session"
LONG = "a line that is long enough to be known again"


@pytest.fixture(params=["lmdb", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The folder or address of a new store of each kind."""
    return (
        str(tmp_path / "store")
        if request.param == "lmdb"
        else request.getfixturevalue("postgres").new_store()
    )


def session_file(folder: Path, *texts: str, tail: bytes = b"") -> Path:
    path = folder / "session.jsonl"
    lines = [said(text, f"e{at}", f"e{at - 1}" if at else None) for at, text in enumerate(texts)]
    path.write_bytes(header(session=SESSION) + b"".join(lines) + tail)
    return path


def planned(log: StoredLog, text: str = "", *numbers: int) -> Purge:
    with log.snapshot() as snapshot:
        return plan_purge(snapshot, text=text, named=[(SESSION, number) for number in numbers])


def purged(place: str, text: str = "", *numbers: int) -> Purge:
    """Purge a store, and close it."""
    with open_store(place) as log:
        plan = planned(log, text, *numbers)
        purge(log, plan)
    return plan


@contextmanager
def purged_of(place: str, path: Path) -> Iterator[StoredLog]:
    """Import a file, purge the secret, and open the store again."""
    with open_store(place, clock=lambda: NOW) as log:
        import_file(log, path)
    purged(place, SECRET)
    with open_store(place, clock=lambda: NOW) as log:
        yield log


def told(folder: Path, *more: str) -> Path:
    return session_file(folder, f"the key is {SECRET}.", "thanks", *more)


def test_the_text_is_replaced_and_the_rest_stays(place: str, tmp_path: Path) -> None:
    with purged_of(place, told(tmp_path)) as log:
        shown = b" ".join(part.raw for part in build_context(log, SESSION).parts)
    assert b"the key is [purged]." in shown
    assert b"thanks" in shown


def test_a_purged_store_is_sound(place: str, tmp_path: Path) -> None:
    with purged_of(place, told(tmp_path)) as log:
        assert verify(log).findings == []


def test_ids_numbers_and_digests_stay(place: str, tmp_path: Path) -> None:
    before = MemoryLog(clock=lambda: NOW)
    import_file(before, told(tmp_path))
    with purged_of(place, told(tmp_path)) as log:
        names = [
            [(each.seq, each.id, each.digest) for each in events(one, SESSION)][:2] for one in (before, log)
        ]
    assert names[0] == names[1]


def test_the_file_brings_nothing_back(place: str, tmp_path: Path) -> None:
    with purged_of(place, told(tmp_path)) as log:
        import_file(log, told(tmp_path, "more"))
        assert planned(log, SECRET).events == ()
        assert [each.id for each in events(log, SESSION) if each.kind == "message"] == ["e0", "e1", "e2"]


def test_an_older_copy_brings_nothing_back(place: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "copy") as copy:
        import_file(copy, told(tmp_path))
        with purged_of(place, told(tmp_path)) as log:
            assert [each.added for each in transfer(copy, log)] == [0]
            assert planned(log, SECRET).events == ()


def test_what_was_purged_can_be_pushed(place: str, tmp_path: Path) -> None:
    with purged_of(place, told(tmp_path)) as log, open_store(tmp_path / "copy") as copy:
        transfer(log, copy)
        assert verify(copy).findings == []
        assert events(copy, SESSION)[0].body == events(log, SESSION)[0].body


def test_no_form_of_it_is_in_the_file(tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    with open_store(place) as log:
        import_file(log, session_file(tmp_path, f"the key is {SECRET}.", json.dumps({"key": SECRET})))
        log.keep([(b"cached", SECRET.encode())])
    plan = purged(place, SECRET)
    data = (tmp_path / "store" / "data.mdb").read_bytes()
    assert [form for form in plan.forms if form in data] == []


def test_bytes_between_records_go(place: str, tmp_path: Path) -> None:
    torn = json.dumps({"torn": SECRET})[:-1].encode()
    with purged_of(place, session_file(tmp_path, "hello", tail=torn)) as log:
        assert planned(log, SECRET).payloads == {}
        assert verify(log).findings == []


def test_no_original_is_exported_any_more(place: str, tmp_path: Path) -> None:
    with purged_of(place, told(tmp_path)) as log, pytest.raises(BadInputError, match="some of it was purged"):
        next(export_original(log, SESSION))


def test_an_event_loses_its_whole_record(place: str, tmp_path: Path) -> None:
    with open_store(place) as log:
        import_file(log, session_file(tmp_path, "keep this", "drop this"))
        number = next(each.seq for each in events(log, SESSION) if each.id == "e1")
    assert [each.why for each in purged(place, "", number).events] == ["named"]
    with open_store(place) as log:
        assert shown_of(events(log, SESSION)[number - 1].body) == b"{}"
        assert verify(log).findings == []


def test_copies_in_other_sessions_go_with_it(store: LmdbLog) -> None:
    for name in (SESSION, "fork"):
        store.append(name, [message("a", LONG)])
    assert [(each.session, each.why) for each in planned(store, "", 1).events] == [
        (SESSION, "named"),
        ("fork", "copy"),
    ]


def test_a_summary_loses_the_lines_that_it_quotes(store: LmdbLog) -> None:
    quoting = event("c", "compaction", summary=f"x\n{LONG}", firstKeptEntryId="b", tokensBefore=1)
    store.append(SESSION, [message("a", LONG), message("b", "later"), quoting])
    plan = planned(store, "", 1)
    assert [(each.seq, each.why, each.is_whole) for each in plan.events] == [
        (1, "named", True),
        (3, "quotes", False),
    ]
    assert b"x\\n[purged]" in plan.bodies[SESSION, 3]


def test_a_summary_keeps_what_no_message_said(store: LmdbLog, tmp_path: Path) -> None:
    lines = claude_code.said("u", None, LONG), claude_code.boundary("b", "u"), claude_code.summary("s", "b")
    claude_code.bring(store, tmp_path / f"{claude_code.SESSION}.jsonl", *lines)
    with store.snapshot() as snapshot:
        number = snapshot.locate(claude_code.SESSION, "u")
        plan = plan_purge(snapshot, named=[(claude_code.SESSION, number)])
    assert [each.why for each in plan.events] == ["named"]


def test_an_unreadable_event_is_purged(store: LmdbLog) -> None:
    store.append(SESSION, [NewEvent(id="a", kind="message", body=b"not json", time=NOW, format="pi/3")])
    assert [each.why for each in planned(store, "", 1).events] == ["named"]


def test_a_compaction_is_never_purged_as_a_whole(store: LmdbLog) -> None:
    store.append(SESSION, [message("a"), compaction("c", "a")])
    with pytest.raises(BadInputError, match="a compaction, of which only texts"):
        planned(store, "", 2)


@pytest.mark.parametrize("text", ["short", "[purged]", "Purged"])
def test_a_text_found_too_often_is_refused(store: LmdbLog, text: str) -> None:
    with pytest.raises(BadInputError, match="at least 6 characters"):
        planned(store, text)


def test_a_text_in_a_name_is_refused(store: LmdbLog) -> None:
    store.append("a-secret-name", [message("a")])
    with pytest.raises(BadInputError, match="stands in its name"):
        planned(store, "secret-name")


def test_an_append_meanwhile_stops_it(place: str, tmp_path: Path) -> None:
    with open_store(place) as log:
        import_file(log, told(tmp_path))
        plan = planned(log, SECRET)
        log.append("another", [message("a")])
        with pytest.raises(StoreError, match="appended meanwhile"):
            purge(log, plan)
        assert planned(log, SECRET).events == plan.events


def test_a_process_that_has_it_open_cannot_append(tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    with open_store(place) as log:
        import_file(log, told(tmp_path))
    program = (
        "import sys; from eventstore import open_store; from tests.support.events import message\n"
        "with open_store(sys.argv[1]) as log:\n"
        " print('open', flush=True); input(); log.append('another', [message('a')])"
    )
    with Popen([sys.executable, "-c", program, place], stdin=PIPE, stdout=PIPE, stderr=PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        purged(place, SECRET)
        _, problem = other.communicate(b"\n", timeout=PATIENCE)
    assert b"was moved, removed or replaced while the store was open" in problem


def test_files_that_still_hold_it_are_named(store: LmdbLog, tmp_path: Path) -> None:
    path = told(tmp_path)
    import_file(store, path)
    store.copy_to(_folder(tmp_path / "backup"))
    with store.snapshot() as snapshot:
        held = still_held(snapshot, store.path, planned(store, SECRET).forms)
    assert held == [str(tmp_path / "backup" / "data.mdb"), str(path)]


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


@settings(max_examples=examples(in_ci=300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=40), st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3))
def test_a_tombstone_keeps_digest_and_fields(body: bytes, fields: dict[str, str]) -> None:
    shown = json.dumps(fields).encode()
    made = tombstone(body, shown)
    assert (body_digest(made), is_tombstone(made)) == (body_digest(body), True)
    assert shown_of(made) == shown
    assert json.loads(made).keys() - {"refoldPurged"} <= fields.keys()
    assert tombstone(made, b"{}") == tombstone(body, b"{}")


def test_a_changed_tombstone_is_none() -> None:
    made = tombstone(b"secret", b'{"a":"b"}')
    assert not is_tombstone(made.replace(b'"b"', b'"c"'))


def test_the_same_message_in_another_format_goes(store: LmdbLog) -> None:
    store.append(SESSION, [message("a", LONG)])
    other = json.dumps({"role": "user", "content": [{"type": "text", "text": LONG}]})
    written = f'{{"type":"message","id":"x","message":{other}}}'
    store.append("other", [NewEvent(id="x", kind="message", body=written.encode(), time=NOW, format="pi/3")])
    store.append("other", [message("y", f"{LONG} and more")])
    assert [(each.session, each.seq, each.why) for each in planned(store, "", 1).events] == [
        (SESSION, 1, "named"),
        ("other", 1, "copy"),
    ]


def test_a_path_that_holds_it_is_named(store: LmdbLog, tmp_path: Path) -> None:
    (folder := tmp_path / "sk-live-4242").mkdir()
    import_file(store, path := session_file(folder, "hello"))
    with store.snapshot() as snapshot:
        assert still_held(snapshot, store.path, [b"sk-live-4242"]) == [str(path)]


def test_a_text_split_over_pages_is_found(store: LmdbLog, tmp_path: Path) -> None:
    database = opencode.Database(tmp_path)
    database.begin()
    secret = "sk-live-" + "42" * 3000
    database.ask("msg_1", "text " * 500 + secret)
    assert secret.encode() not in database.path.read_bytes()
    import_sessions(store, database.path)
    with store.snapshot() as snapshot:
        assert still_held(snapshot, store.path, [secret.encode()]) == [str(database.path)]


def test_only_the_owner_purges_a_database(postgres: Server) -> None:
    psycopg = pytest.importorskip("psycopg", reason="needs refold[postgres]")
    url = postgres.new_store()
    with open_store(url) as log:
        log.append(SESSION, [message("a", SECRET)])
    name, schema = f"others_{url.rpartition('_')[2]}", url.rpartition("%3D")[2]
    with psycopg.connect(url, autocommit=True) as connection:
        for each in (
            f"CREATE ROLE {name} LOGIN",
            f"GRANT USAGE ON SCHEMA {schema} TO {name}",
            f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {name}",
        ):
            connection.execute(each.encode())
    with open_store(url.replace("refold@", f"{name}@"), create=False) as log:
        plan = planned(log, SECRET)
        with pytest.raises(StoreError, match="only the owner"):
            purge(log, plan)
        assert planned(log, SECRET).events == plan.events


def test_a_notes_quotation_goes_where_cut(store: LmdbLog) -> None:
    beginning = "a key that is " + "long " * 40
    store.append(SESSION, [message("a", beginning + "and goes on")])
    quotation = {"event": "a", "seq": 1, "quote": f"{beginning} […]"}
    data = {"text": f"#1 {beginning} […]", "messages": [quotation]}
    SessionWriter(store, SESSION).append(Note(target_id="a", data=data))
    plan = planned(store, "", 1)
    assert [each.why for each in plan.events] == ["named", "quotes"]
    assert all(b"a key that is" not in body for body in plan.bodies.values())


@pytest.mark.parametrize(
    "made",
    [
        event("n", "session_info", name="pin: 4711"),
        event("n", "compaction", summary="x\n- pin: 4711", firstKeptEntryId="a", tokensBefore=1),
        event("n", "rewrite", reason="x", targets=[{"target": "a", "shown": "pin: 47 […]"}]),
        event("n", "decision", outcome="x", reason='"pin: 4711"'),
        event("n", "custom", data=json.dumps(["pin: 4711"])),
        event("n", "custom", data={"said": "pin: 4711"}),
    ],
    ids=lambda made: made.kind,
)
def test_short_lines_go_from_its_session(store: LmdbLog, made: NewEvent) -> None:
    store.append(SESSION, [message("a", "pin: 4711\nof the door"), made])
    store.append("another", [made])
    assert [(each.session, each.seq) for each in planned(store, "", 1).events] == [(SESSION, 1), (SESSION, 2)]
    assert b"pin: 47" not in planned(store, "", 1).bodies[SESSION, 2]


def test_a_note_about_it_says_nothing(store: LmdbLog) -> None:
    store.append(SESSION, [message("a", "it says pin: 4711")])
    SessionWriter(store, SESSION).append(
        Note(data={"said": [{"event": "a"}], "claim": "their number is 4711"})
    )
    assert b"4711" not in planned(store, "pin: 4711").bodies[SESSION, 2]


def test_each_line_of_a_text_goes(store: LmdbLog) -> None:
    quoting = event("b", "branch_summary", summary="see\n> first key\n> second key", fromId="a")
    store.append(SESSION, [message("a", "first key\nsecond key"), quoting])
    assert b"> [purged]\\n> [purged]" in planned(store, "first key\nsecond key").bodies[SESSION, 2]


@pytest.mark.parametrize("levels", [480, 5_000])
@pytest.mark.parametrize("harmful", [LONG, "other"])
def test_nested_records_and_texts_are_purged(store: LmdbLog, levels: int, harmful: str) -> None:
    nested = "[" * levels + json.dumps(f"\u00fc {harmful}") + "]" * levels
    data = json.loads(nested) if levels < 500 else nested
    store.append(SESSION, [message("a", LONG), event("c", "custom", data={"as JSON": nested})])
    SessionWriter(store, SESSION).append(Note(data={"said": data}))
    seen = 2 * (harmful == LONG)
    assert len(planned(store, "", 1).events) == len(planned(store, LONG).events) == 1 + seen


def test_files_with_events_and_texts_are_named(store: LmdbLog, tmp_path: Path) -> None:
    store.append(SESSION, [message("a", LONG), message("b", SECRET)])
    path = tmp_path / "another" / "data.mdb"
    path.parent.mkdir()
    for text in (LONG, SECRET):
        path.write_text(text)
        with store.snapshot() as snapshot:
            assert still_held(snapshot, store.path, planned(store, SECRET, 1).forms) == [str(path)]


def test_a_repeated_line_goes_from_payloads(place: str, tmp_path: Path) -> None:
    path = session_file(tmp_path, "a pin: 4711", "thanks", tail=said("a pin: 4711", "e0", None))
    with open_store(place) as log:
        import_file(log, path)
        number = next(each.seq for each in events(log, SESSION) if each.id == "e0")
        assert len(planned(log, "", number).payloads) == 1
