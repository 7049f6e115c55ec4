from __future__ import annotations

import pytest

from eventstore.errors import BadInputError
from eventstore.harnesses.pi.session_file import find_header
from tests.support.pi_files import SESSION, header, line, said


def find(*lines: bytes):
    return find_header(lines, "session.jsonl")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_first_line_says_which_session_of_which_version(version: int) -> None:
    found = find(header(version), said("x"))
    assert (found.session, found.version, found.line, found.differs) == (SESSION, version, 1, "")


def test_a_header_behind_blank_and_broken_lines_is_found() -> None:
    found = find(b"\n", b"{torn\n", header())
    assert (found.session, found.line, found.differs) == (SESSION, 3, "")


def test_a_header_glued_to_an_entry_is_found() -> None:
    assert find(header().rstrip() + said("x", "a", None)).session == SESSION


def test_a_file_without_a_header_is_named_by_its_first_record() -> None:
    first = said("x", "a", None)
    found = find(first, said("y", "b", "a"))
    assert found.session.startswith("headless-")
    assert found.session == find(first).session
    assert found.differs


@pytest.mark.parametrize(("names", "version"), [((), 1), (("a", None), 3)])
def test_without_a_header_the_version_follows_from_the_records(
    names: tuple[object, ...], version: int
) -> None:
    assert find(said("x", *names)).version == version


@pytest.mark.parametrize("session", [None, "", 5, "\ud800"])
def test_a_header_without_a_usable_id_is_named_by_its_bytes(session: object) -> None:
    found = find(header(session=session))
    assert found.session.startswith("noid-")
    assert found.differs


def test_an_entry_before_the_header_is_reported() -> None:
    found = find(said("x", "a", None), header())
    assert (found.session, found.line) == (SESSION, 2)
    assert found.differs


@pytest.mark.parametrize(("version", "read_as"), [(None, 1), (0, 1), (2.0, 2), ("3", 3), ([], 3), (True, 3)])
def test_an_odd_version_is_read_as_pi_reads_it(version: object, read_as: int) -> None:
    record = {"type": "session", "id": SESSION} | ({} if version is None else {"version": version})
    assert find(line(record)).version == read_as


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "is empty"),
        ([b"\n", b" \n"], "contains no readable record"),
        ([b"hello\n"], "contains no readable record"),
        ([b"\x00\x01\x02"], "is not text"),
        (['{"type":"session"}\n'.encode("utf-16")], "is in UTF-16; save it as UTF-8"),
        (['{"type":"session"}\n'.encode("utf-16-le")], "is in UTF-16; save it as UTF-8"),
        (['{"type":"session"}\n'.encode("utf-16-be")], "is in UTF-16; save it as UTF-8"),
        ([b'{"type":"user","uuid":"x"}\n'], "no session begins with this record"),
        ([b'{"type":"session","version":4,"id":"x"}\n'], "pi session version 4 is unknown"),
    ],
)
def test_what_is_no_session_file_is_refused_with_what_it_is(lines: list[bytes], problem: str) -> None:
    with pytest.raises(BadInputError, match=problem):
        find(*lines)


README = [b"# A tool\n", b"\n", b"It writes lines like\n", header(), said("x", "a", None), b"and so on.\n"]


def test_a_text_that_quotes_records_is_no_session() -> None:
    with pytest.raises(BadInputError) as refused:
        find(*README, b"More\n")
    assert refused.value.line is None


@pytest.mark.parametrize("version", [3, 9])
def test_a_version_that_a_text_quotes_is_none_of_a_sessions(version: int) -> None:
    with pytest.raises(BadInputError) as refused:
        find(b"Text\n", header(version), b"More\n")
    assert "version" not in refused.value.problem


@pytest.mark.parametrize("torn", [b"{torn\n", b'{"type":["x"]}\n', b'{"type":5}\n', b'{"type":null}\n'])
def test_damaged_records_do_not_keep_a_header_from_being_found(torn: bytes) -> None:
    assert find(torn, torn, header()).session == SESSION


@pytest.mark.parametrize("torn", [b"{torn\n", b'{"type":["x"]}\n'])
def test_damaged_records_do_not_count_where_most_lines_have_to_be_records(torn: bytes) -> None:
    assert find(torn, torn, said("x", "a", None)).version == 3


def test_a_session_whose_beginning_is_lost_is_one_by_most_of_its_lines() -> None:
    assert find(b"k to you\n", header(), said("x", "a", None)).line == 2
    assert find(b"k to you\n", said("x", "a", None), said("y", "b", "a")).line == 0


def test_half_of_the_lines_are_not_most() -> None:
    with pytest.raises(BadInputError):
        find(b"Text\n", said("x", "a", None))


@pytest.mark.parametrize("number", ["-1e999", "-1", "-10000000000", "0.5", "-0"])
def test_a_version_below_the_first_is_the_first(number: str) -> None:
    assert find(b'{"type":"session","version":%b,"id":"x"}\n' % number.encode()).version == 1


@pytest.mark.parametrize("number", ["1e999", "4", "1" * 500])
def test_a_version_above_the_newest_is_refused(number: str) -> None:
    with pytest.raises(BadInputError) as refused:
        find(b'{"type":"session","version":%b,"id":"x"}\n' % number.encode())
    assert refused.value.line == 1
