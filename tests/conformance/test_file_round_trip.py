"""Any session file of pi, however damaged, in whatever states it is brought: it comes back byte for byte."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import EventLog, open_store
from eventstore.errors import BadInputError
from eventstore.files.exporting import export_session
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from tests.support.events import events
from tests.support.examples import examples
from tests.support.pi_files import SESSION, bring, entry, header, kept, original, said

SETTINGS = settings(derandomize=True)

names = st.sampled_from(["a", "b", "c", "d", "e", "a", None, 5, "", "\ud800"])
records = st.one_of(
    st.builds(said, st.sampled_from(["x", "größe", "\ud800", ""]), names, names),
    st.builds(
        entry,
        names,
        names,
        st.sampled_from(["custom", "rewrite", "?"]),
    ),
    st.builds(kept, st.sampled_from([0, 1, 2, 3, 2.0, 1.5, True, None])),
    st.builds(lambda own, to: entry(own, None, "label", targetId=to), names, names),
)
damage = st.one_of(
    st.sampled_from(
        [
            b"",
            b"  \t",
            b"\r",
            b"broken",
            b"{",
            b'{"type":"message"',
            b"42",
            b"null",
            b"[]",
            b'"text"',
            b"\xff\xfe",
            b"\xef\xbb\xbf",
            b"\0",
            b'{"type":"custom","x":NaN}',
            header(3).rstrip(),
            b"}" * 3,
        ]
    ),
    st.binary(max_size=8).filter(lambda data: b"\n" not in data),
    st.builds(lambda record, size: record[: -1 - size], records, st.integers(1, 30)),
)
lines = st.one_of(
    records.map(bytes.rstrip),
    records.map(bytes.rstrip),
    damage,
    st.builds(lambda one, gap, two: one.rstrip() + gap + two.rstrip(), records, damage, records),
)
ends = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b" \n"])
headers = st.sampled_from(
    [header(1), header(2), header(3), header(3), b"\xef\xbb\xbf" + header(3), b"\n \n" + header(2)]
)
bodies = st.lists(st.tuples(lines, ends), max_size=10).map(
    lambda parts: b"".join(line + end for line, end in parts)
)
files = st.builds(
    lambda head, body, torn: head + body + torn, headers, bodies, st.one_of(st.just(b""), lines)
)


def assert_all_come_back(log: EventLog, states: list[bytes]) -> None:
    """Bring the states of one file in, and hold the export against each."""
    with tempfile.TemporaryDirectory() as folder:
        for content in states:
            found = bring(log, Path(folder), content)
            assert original(log, found.id) == content
            assert found.added <= found.events
            again = bring(log, Path(folder), content)
            assert (again.id, again.added, again.rewritten) == (found.id, 0, 0)
    assert verify(log).findings == []


@pytest.mark.slow
@SETTINGS
@given(files)
def test_a_file_comes_back_and_adds_nothing_the_second_time(content: bytes) -> None:
    assert_all_come_back(MemoryLog(), [content])


@pytest.mark.slow
@SETTINGS
@given(files, st.lists(st.integers(0, 4000), max_size=4))
def test_a_file_comes_back_in_all_its_states(content: bytes, cuts: list[int]) -> None:
    head = content.index(b"}") + 1
    states = [content[: max(head, cut)] for cut in cuts]
    assert_all_come_back(MemoryLog(), [*states, content])


@pytest.mark.slow
@SETTINGS
@given(files, bodies)
def test_a_file_that_grew_has_the_entries_of_a_whole_one(content: bytes, more: bytes) -> None:
    grown, whole = MemoryLog(), MemoryLog()
    assert_all_come_back(grown, [content, content + more])
    assert_all_come_back(whole, [content + more])
    with grown.snapshot() as snapshot:
        if len(list(snapshot.heads())) > 1:
            # A last record without a line end is another one with what follows: a changed file, and a generation.
            assert not content.endswith(b"\n")
            return
        (session,) = [head.name for head in snapshot.heads()]
    told = [
        [
            (found.id, found.parent, found.kind, found.body, found.flags)
            for found in events(log, session)
            if found.is_entry
        ]
        for log in (grown, whole)
    ]
    assert told[0] == told[1]


@SETTINGS
@given(st.lists(names, min_size=1, max_size=6), st.lists(st.integers(0, 11)), st.integers(0, 4000))
def test_repeats_of_records_add_none(parents: list[Any], repeats: list[int], cut: int) -> None:
    once = [said("x", name, parent) for name, parent in zip("abcdef", parents, strict=False)]
    records = list(once)
    for at in repeats:
        records.insert(len(once) + at, records[at % len(records)])
    log, plain = MemoryLog(), MemoryLog()
    assert_all_come_back(plain, [header(3) + b"".join(once)])
    content = header(3) + b"".join(records)
    assert_all_come_back(log, [content[: max(len(header(3)), cut)], content])
    told = [
        [(found.id, found.parent, found.body) for found in events(each, SESSION) if found.is_entry]
        for each in (log, plain)
    ]
    assert told[0] == told[1]


@pytest.mark.slow
@SETTINGS
@given(st.lists(files, min_size=2, max_size=3))
def test_files_that_say_otherwise_of_a_session_all_come_back(contents: list[bytes]) -> None:
    assert_all_come_back(MemoryLog(), [*contents, *contents])


@SETTINGS
@given(files)
def test_an_export_to_pi_brings_the_same_tree_to_another_store(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log, other = MemoryLog(), MemoryLog()
        session = bring(log, Path(folder), content).id
        bring(other, Path(folder), b"".join(export_session(log, session, "pi")), name="exported")
        trees = [
            [(found.id, found.parent, found.time) for found in events(each, session) if found.is_entry]
            for each in (log, other)
        ]
        assert trees[0] == trees[1]


@settings(max_examples=examples(20), derandomize=True)
@given(files, st.integers(0, 4000))
def test_a_store_on_disk_gives_what_a_log_in_memory_gives(content: bytes, cut: int) -> None:
    head = content.index(b"}") + 1
    with tempfile.TemporaryDirectory() as folder, open_store(os.path.join(folder, "store")) as store:  # noqa: PTH118
        model = MemoryLog()
        for state in (content[: max(head, cut)], content):
            session = bring(model, Path(folder), state).id
            assert bring(store, Path(folder), state).id == session
            assert original(store, session) == state
            told = [[found.digest for found in events(log, session)] for log in (store, model)]
            assert told[0] == told[1]


@pytest.mark.slow
@settings(max_examples=examples(300), derandomize=True)
@given(st.one_of(st.binary(max_size=80), st.lists(lines, max_size=4).map(b"\n".join)))
def test_no_bytes_do_more_than_be_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = MemoryLog()
        try:
            found = bring(log, Path(folder), content)
        except BadInputError:
            return
        assert original(log, found.id) == content
        assert verify(log).findings == []
