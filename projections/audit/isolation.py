"""Compute the parts of an audit one by one; an error in one costs none of the others."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

from eventstore.errors import RefoldError
from eventstore.event import Event
from projections.audit.measure import MetricStruct

T = TypeVar("T")


class NotComputed(MetricStruct, frozen=True):
    """A part of an audit that could not be computed, because of a bug in refold.

    `event` and `seq` are the replacement's that it is about, None and 0 if it is about the session.
    """

    what: str
    event: str | None
    seq: int
    error: str
    traceback: str


class Isolation:
    """Computes parts; `failed` are those that could not be computed, in order."""

    def __init__(self) -> None:
        self.failed: list[NotComputed] = []

    def compute(self, what: str, make: Callable[[], T], event: Event | None = None) -> T | None:
        """Return the result of `make`, None if it fails. Raises RefoldError: it concerns all."""
        try:
            return make()
        except RefoldError:
            raise
        except Exception as error:  # noqa: BLE001  a bug may raise anything
            self.failed.append(
                NotComputed(
                    what=what,
                    event=event.id if event else None,
                    seq=event.seq if event else 0,
                    error=f"{type(error).__name__}: {error}",
                    traceback="".join(traceback.format_exception(error)),
                )
            )
            return None
