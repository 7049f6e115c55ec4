"""Records of requests that led to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compaction.summarizers import CancelledError
from compaction.summarizers.asking import AskingError
from eventstore.records import Attempt
from eventstore.writing import SessionWriter


@contextmanager
def attempt_recorded(writer: SessionWriter, reason: str, policy: str = "") -> Iterator[None]:
    """Where a request fails meanwhile, or is called off, append an `attempt` of it; the error goes on.

    `reason` is what it was asked for, `policy` by which policy, "" for none.
    """
    try:
        yield
    except (AskingError, CancelledError) as error:
        by_policy = {"policy": policy} if policy else {}
        request = {"reason": reason, **by_policy, "requests": error.requests}
        writer.append(Attempt(request=request, error=str(error)))
        raise
