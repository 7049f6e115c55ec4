from __future__ import annotations

from eventstore.encoding import MAX_ID_BYTES_IN_KEY
from eventstore.lmdb.keys import event_key, id_key

LMDB_KEY = 511


def test_events_of_a_session_lie_in_the_order_of_their_numbers() -> None:
    keys = [event_key(1, seq) for seq in (1, 2, 255, 256, 2**40)]
    assert keys == sorted(keys)


def test_the_events_of_one_session_end_before_those_of_the_next_begin() -> None:
    assert event_key(1, 2**64 - 1) < event_key(2, 1)


def test_a_short_id_is_its_own_key() -> None:
    assert id_key(7, "é") == b"\x00\x00\x00\x07\xc3\xa9"


def test_an_id_of_any_length_makes_a_key() -> None:
    assert len(id_key(1, "x" * 60_000)) <= LMDB_KEY


def test_long_ids_that_differ_at_their_end_have_different_keys() -> None:
    start = "x" * MAX_ID_BYTES_IN_KEY
    assert id_key(1, start + "a") != id_key(1, start + "b")


def test_a_long_id_keeps_its_beginning_so_that_prefixes_find_it() -> None:
    assert id_key(1, "begins" + "x" * 1000).startswith(id_key(1, "begins"))
