"""Errors: one base, one line each, with their data and what to do."""

from __future__ import annotations

import pytest

from eventstore import errors
from eventstore.errors import (
    AmbiguousError,
    BadInputError,
    CorruptionError,
    EventConflictError,
    NotFoundError,
    RefoldError,
    StoreError,
    VersionConflictError,
)

SENTENCES = [
    (StoreError("/store", "is truncated", "restore it"), "/store: is truncated; restore it"),
    (NotFoundError("session", "s", "look around"), "no session 's'; look around"),
    (AmbiguousError("id", "a", ["ab", "ac"]), "id 'a' is ambiguous (ab, ac); give more of it"),
    (
        AmbiguousError("id", "a", list("bcdefgh")),
        "id 'a' is ambiguous (b, c, d, e, f, …); give more of it",
    ),
    (
        VersionConflictError("s", 3, 5),
        "session 's' is at version 5, not 3; read what is new, then append again",
    ),
    (
        VersionConflictError("s", 3, 5, tries=100),
        "session 's' has grown during each of 100 tries, to version 5; try again when others append less often",
    ),
    (
        EventConflictError("s", "a"),
        "session 's' already has event 'a' with other contents; use a new id",
    ),
    (BadInputError("file", "is empty", "take another"), "file: is empty; take another"),
    (BadInputError("file", "is broken", "mend it", line=7), "file:7: is broken; mend it"),
    (
        CorruptionError("s", 4, "is missing"),
        "session 's', event 4: is missing; run 'refold verify', then restore a backup",
    ),
]


@pytest.mark.parametrize(("error", "sentence"), SENTENCES)
def test_an_error_says_in_one_line_what_is_wrong_and_what_to_do(error: RefoldError, sentence: str) -> None:
    assert (str(error), error.lines) == (sentence, [sentence])


@pytest.mark.parametrize("error", [error for error, _ in SENTENCES])
def test_every_error_is_one_of_refolds(error: RefoldError) -> None:
    assert isinstance(error, RefoldError)


def test_every_kind_of_error_is_tried_here() -> None:
    kinds = {found for found in vars(errors).values() if isinstance(found, type)}
    assert kinds == {type(error) for error, _ in SENTENCES} | {RefoldError}


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
