"""Records of requests that led to nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from eventstore.errors import RefoldError
from eventstore.records import Attempt
from eventstore.writing import SessionWriter


@contextmanager
def attempt_recorded(
    writer: SessionWriter, reason: str, policy: str = "", *, answered: Sequence[dict[str, Any]] = ()
) -> Iterator[None]:
    """Where a request fails meanwhile, is called off, or cannot even be made, append an `attempt`; the error goes on.

    It has the attempt's id from there on. `reason` is what it was asked for, `policy` by which policy, "" for none.
    `answered` are the records of requests that went through before: what they cost is told, and what they brought.
    """
    try:
        yield
    except RefoldError as error:
        by_policy = {"policy": policy} if policy else {}
        requests = [*answered, *getattr(error, "requests", [])]
        request = {"reason": reason, **by_policy, "requests": requests}
        (error.attempt,) = writer.append(Attempt(request=request, error=str(error)))
        raise


def attempt_of(error: RefoldError) -> list[str]:
    """The id of the attempt that was put down of an error, [] for none."""
    return [error.attempt] if error.attempt else []
