"""Events as folds read them are those that are stored, however little of them is decoded."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from eventstore import paths
from eventstore.errors import CorruptionError, NotFoundError
from eventstore.event import Event, Flag
from eventstore.memory import MemoryLog
from eventstore.paths import LazyEvent
from tests.support.events import decision, event, events, message, undone
from tests.support.frames import encode
from tests.support.native import native_events

FIELDS = [
    "session",
    "seq",
    "id",
    "kind",
    "role",
    "format",
    "flags",
    "is_entry",
    "time",
    "utf16",
    "utf8",
    "parent_seq",
    "compaction_seq",
    "model_seq",
    "thinking_seq",
    "target_seq",
    "digest",
    "cause",
    "message",
    "body",
]


def stored(*new):
    log = MemoryLog()
    log.append("s", list(new))
    return log


def told(found: LazyEvent | Event):
    return {field: getattr(found, field) for field in FIELDS}


@pytest.mark.slow
@given(native_events())
def test_a_lazy_event_tells_what_the_event_tells(new):
    log = stored(*new)
    with log.snapshot() as snapshot:
        for lazy, each in zip(paths.events(snapshot, "s"), events(log, "s"), strict=True):
            assert lazy.decode() == each
            assert told(lazy) == told(each)
            assert lazy.is_overlaid == bool(each.flags & Flag.OVERLAID)
            assert lazy.append == (each.cause or each.id)
            assert lazy.body_size == len(each.body)


@given(native_events())
def test_a_path_read_down_is_the_path_read_up(new):
    with stored(*new).snapshot() as snapshot:
        leaf = snapshot.head("s").leaf
        down = [entry.seq for entry in paths.path(snapshot, "s", leaf)]
        assert down == [entry.seq for entry in paths.upward(snapshot, "s", leaf)][::-1]
        assert [seq for seq in down if seq >= leaf // 2] == [
            entry.seq for entry in paths.path(snapshot, "s", leaf, first=leaf // 2)
        ]


KINDS = [{"message"}, {"of my own"}, {"message", "of my own"}, {"another"}, set()]


@pytest.mark.parametrize("kinds", KINDS)
def test_kinds_are_chosen_by_their_names_also_those_without_a_code(kinds):
    log = stored(message("a"), event("b", "of my own"), event("c", "another one"), message("d"))
    with log.snapshot() as snapshot:
        expected = [each.id for each in events(log, "s") if each.kind in kinds]
        assert [each.id for each in paths.events_of_kinds(snapshot, "s", kinds)] == expected
        assert [each.id for each in paths.path_of_kinds(snapshot, "s", 4, kinds)] == expected
        backward = paths.events_of_kinds(snapshot, "s", kinds, backward=True)
        assert [each.id for each in backward] == expected[::-1]


def shown(log, *, kinds, show, leaf=4, marked=()):
    marks = []
    with log.snapshot() as snapshot:
        found = paths.messages_of_path(
            snapshot,
            "s",
            leaf,
            first=1,
            kinds=frozenset(kinds),
            show=show,
            marked=frozenset(marked),
            marks=marks,
        )
        return [bytes(raw) for raw in found]


class TestMessagesOfAPath:
    LOG = (message("a"), event("b", "of my own"), event("c", "custom"), message("d"))

    def test_are_slices_of_the_records(self):
        log = stored(*self.LOG)
        assert shown(log, kinds=(), show=None) == [each.message for each in events(log, "s") if each.message]

    def test_are_what_shows_in_place_of_those_of_other_kinds(self):
        found = shown(stored(*self.LOG), kinds=["of my own"], show=lambda entry: [entry.id.encode(), b"2"])
        assert found[1:3] == [b"b", b"2"]
        assert len(found) == 4

    def test_may_be_none_of_an_entry(self):
        assert len(shown(stored(*self.LOG), kinds=["of my own", "custom"], show=lambda _: ())) == 2

    def test_an_empty_message_is_one(self):
        assert shown(stored(*self.LOG), kinds=["custom"], show=lambda _: [b""])[1] == b""


def test_undone_entries_are_not_in_effect():
    log = stored(
        message("a"), event("b", "custom", cause="x"), event("c", "custom", cause="x"), undone("d", "c")
    )
    with log.snapshot() as snapshot:
        assert [each.id for each in paths.in_effect_on(snapshot, "s", 4)] == ["d", "a"]
        assert {paths.append_with(snapshot, "s", seq) for seq in (2, 3)} == {"x"}


def test_entries_are_found_by_their_ids():
    log = stored(message("a"), decision("x"), message("b"))
    with log.snapshot() as snapshot:
        assert paths.find_entry(snapshot, "s", "b", as_of=3) == 3
        assert (paths.entry_id(snapshot, "s", 3), paths.entry_id(snapshot, "s", 0)) == ("b", None)
        for name, as_of in [("b", 2), ("ghost", 3), ("x", 3)]:
            with pytest.raises(NotFoundError):
                paths.find_entry(snapshot, "s", name, as_of=as_of)


def test_a_path_that_leads_down_again_is_damage():
    class Circle:
        def frame(self, _session, _seq):
            return encode(msgspec.structs.replace(first, parent_seq=1))

    first = events(stored(message("a")), "s")[0]
    with pytest.raises(CorruptionError):
        list(paths.upward(Circle(), "s", 1))
