"""Errors: one base, one line each, with their data and what to do."""

from __future__ import annotations

import pickle
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import errors
from eventstore.errors import (
    AmbiguousError,
    BadInputError,
    CorruptionError,
    EventConflictError,
    NoSessionError,
    NoSessionYetError,
    NotFoundError,
    RefoldError,
    StoreError,
    StoreOptionsError,
    VersionConflictError,
    shell_command,
)

ERRORS = [
    (StoreError("/store", "is truncated", "restore it"), ["/store", "is truncated", "restore it"]),
    (
        StoreOptionsError("/store", "durability", "each", "batch"),
        ["/store", "durability", "'each'", "'batch'"],
    ),
    (NotFoundError("session", "s", "look around"), ["session", "'s'", "look around"]),
    (AmbiguousError("id", "a", ["ab", "ac"]), ["id", "'a'", "ab", "ac"]),
    (AmbiguousError("id", "a", list("bcdefgh")), ["id", "'a'", "b, c, d, e, f, …"]),
    (VersionConflictError("s", 3, 5), ["'s'", "5", "3"]),
    (VersionConflictError("s", 3, 5, tries=100), ["'s'", "100", "5"]),
    (EventConflictError("s", "a"), ["'s'", "'a'"]),
    (BadInputError("file", "is empty", "take another"), ["file: ", "is empty", "take another"]),
    (BadInputError("file", "is broken", "mend it", line=7), ["file:7: ", "is broken", "mend it"]),
    (NoSessionError("file", "is a poem", "take another"), ["file: ", "is a poem", "take another"]),
    (NoSessionYetError("file", "is a title", "wait"), ["file: ", "is a title", "wait"]),
    (CorruptionError("s", 4, "is missing"), ["'s'", "4", "is missing", "refold verify"]),
]


@pytest.mark.parametrize(("error", "data"), ERRORS)
def test_an_error_tells_its_data_in_one_line_and_in_order(error: RefoldError, data: list[str]) -> None:
    assert error.lines == [str(error)]
    assert "\n" not in str(error)
    assert re.search(".*".join(map(re.escape, data)), str(error))


def test_every_kind_of_error_is_tried_here_and_one_of_refolds() -> None:
    kinds = {found for found in vars(errors).values() if isinstance(found, type)}
    assert kinds == {type(error) for error, _ in ERRORS} | {RefoldError}
    assert all(issubclass(kind, RefoldError) for kind in kinds)


def test_errors_carry_their_data() -> None:
    stale = VersionConflictError("s", "new", 5)
    assert (stale.session, stale.expected, stale.actual) == ("s", "new", 5)
    taken = EventConflictError("s", "a")
    assert (taken.session, taken.event_id) == ("s", "a")
    bad = BadInputError("file", "problem", "remedy", line=7)
    assert (bad.source, bad.problem, bad.remedy, bad.line) == ("file", "problem", "remedy", 7)
    damaged = CorruptionError("s", 4, "is missing")
    assert (damaged.session, damaged.seq, damaged.problem) == ("s", 4, "is missing")
    unsure = AmbiguousError("id", "a", ["ab", "ac"])
    assert (unsure.what, unsure.name, unsure.candidates) == ("id", "a", ["ab", "ac"])


@given(names=st.lists(st.text()))
def test_a_command_that_is_printed_has_the_names_that_it_was_given(names):
    command = shell_command("audit --full", *names)
    assert command == command.strip()
    words = shlex.split(command)
    guard = ["--"] if any(name.startswith("-") for name in names) else []
    assert words == ["refold", "audit", "--full", *guard, *names]


@pytest.mark.parametrize("error", [error for error, _ in ERRORS], ids=str)
def test_an_error_comes_whole_from_another_process(error: RefoldError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
