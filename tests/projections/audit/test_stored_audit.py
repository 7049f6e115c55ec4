"""Audits that a store holds: used again while nothing that they depend on has changed."""

from __future__ import annotations

import msgspec
import pytest

from eventstore import open_store
from eventstore.errors import CorruptionError, NotFoundError
from eventstore.files.importing import import_file
from eventstore.records import Compaction
from projections.audit.prices import FilePrices
from projections.audit.session import audit
from projections.audit.stored_audit import stored_audit
from projections.tokens import counter
from tests.support.talk import Story, assistant, user
from tests.support.tampering import event_key, tables

TOKENS = counter("utf16/4")
OTHER_TOKENS = counter("bytes/4")


class Watched:
    """A log that counts the audits that were made, because each is stored."""

    def __init__(self, log):
        self.log, self.made, self.stored = log, 0, []

    def snapshot(self):
        return self.log.snapshot()

    def keep(self, derived):
        self.stored = list(derived)
        self.made += 1
        self.log.keep(self.stored)

    def audit(self, **options):
        return stored_audit(self, "s", **{"tokens": TOKENS} | options)


@pytest.fixture
def watched(store):
    story = Story(store)
    story.says(user("read src/a.ts"), assistant("src/a.ts has load_it"), user("go on"))
    story.add(Compaction(summary="nothing", first_kept_entry_id="e3", tokens_before=9))
    story.says(assistant("load_it is in src/a.ts"))
    return Watched(store)


def test_an_audit_is_made_once(watched):
    made, again = watched.audit(), watched.audit()
    assert watched.made == 1
    assert again == made == audit(watched.log, "s", tokens=TOKENS)
    assert msgspec.json.encode(again) == msgspec.json.encode(made)


def test_an_event_more_makes_it_anew(watched):
    before = watched.audit()
    Story(watched.log, "s").writer.message(user("more"))
    after = watched.audit()
    assert watched.made == 2
    assert after.events == before.events + 1


def test_another_session_that_is_written_to_leaves_it_in_use(watched):
    watched.audit()
    Story(watched.log, "other").says(user("more"))
    watched.audit()
    assert watched.made == 1


def test_an_event_that_was_altered_is_noticed(tmp_path):
    with open_store(tmp_path) as log:
        Story(log, "s").says(user("read src/a.ts"), assistant("src/a.ts has load_it"))
        stored_audit(log, "s", tokens=TOKENS)
    with tables(tmp_path) as held:
        frame = held.get("events", event_key(1, 1))
        held.put("events", event_key(1, 1), frame.replace(b"a.ts", b"b.ts"))
    with open_store(tmp_path) as log, pytest.raises(CorruptionError):
        stored_audit(log, "s", tokens=TOKENS)


TABLE = FilePrices(name="t", date="2026-01-01", models={})


@pytest.mark.parametrize(
    "options",
    [{"leaf": "e2"}, {"tokens": OTHER_TOKENS}, {"prices": TABLE}],
)
def test_other_options_are_other_audits(watched, options):
    watched.audit()
    found = watched.audit(**options)
    assert watched.made == 2
    assert found == audit(watched.log, "s", **{"tokens": TOKENS} | options)


def test_a_damaged_audit_is_made_anew(watched):
    made = watched.audit()
    ((key, value),) = watched.stored
    damaged = b"", b"\xc1", value[: len(value) // 2], msgspec.msgpack.encode([{}, {}])
    for number, each in enumerate(damaged, 2):
        watched.log.keep([(key, each)])
        assert watched.audit() == made
        assert watched.made == number


def test_a_session_that_is_not_there_is_not_found(watched):
    with pytest.raises(NotFoundError):
        stored_audit(watched, "none", tokens=TOKENS)


def test_a_real_audit_is_stored_as_it_is(corpus, store):
    for name in ("claude-code/6113e919-3auto.jsonl", "pi/pi-mono-before-compaction.v3.jsonl"):
        watched, session = Watched(store), import_file(store, corpus / name).id
        made, again = (stored_audit(watched, session, tokens=TOKENS) for _ in range(2))
        assert watched.made == 1
        assert again == made
        assert msgspec.json.encode(again) == msgspec.json.encode(made)
