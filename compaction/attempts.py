"""Records of requests that led to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compaction.summarizers import CancelledError, SummarizerError
from eventstore.errors import RefoldError
from eventstore.records import Attempt
from eventstore.writing import SessionWriter


@contextmanager
def attempt_recorded(writer: SessionWriter, reason: str, policy: str = "") -> Iterator[None]:
    """Where a request fails meanwhile, is called off, or cannot even be made, append an `attempt`; the error goes on.

    One of a summarizer's, and one that says that it was called off, has the attempt's id from there on.

    `reason` is what it was asked for, `policy` by which policy, "" for none.
    """
    try:
        yield
    except RefoldError as error:
        by_policy = {"policy": policy} if policy else {}
        requests = getattr(error, "requests", [])
        request = {"reason": reason, **by_policy, "requests": requests}
        (attempt,) = writer.append(Attempt(request=request, error=str(error)))
        if isinstance(error, SummarizerError | CancelledError):
            error.attempt = attempt
        raise


def attempt_of(error: RefoldError) -> list[str]:
    """The id of the attempt that was put down of an error, [] for none."""
    attempt: str = getattr(error, "attempt", "")
    return [attempt] if attempt else []
