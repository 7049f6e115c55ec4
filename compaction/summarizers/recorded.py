"""Replay recorded summaries, for exact re-runs without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Final

from compaction.prompts import Prompt
from compaction.summarizers import Answer, Cancellation, SummarizerError
from eventstore.formats import view_of
from eventstore.formats.base import RequestView
from eventstore.log import EventLog, Head, Snapshot
from eventstore.paths import events_of_kinds

_HOLDERS: Final = frozenset({"compaction", "branch_summary", "attempt", "decision", "custom_message"})
"""Kinds of events whose records may contain requests."""


class RecordedSummarizer:
    """Answer from a log by the prompt's digest: from `session` first, then the others.

    The newest answer of `session` wins, else that of the most recently written session. Other sessions are
    read only if needed, and only once, and only if `reads` returns True for their names.
    """

    name = "recorded"

    def __init__(
        self,
        log: EventLog | Snapshot,
        *,
        session: str = "",
        reads: Callable[[str], bool] = lambda _name: True,
    ) -> None:
        self._log, self._session, self._reads = log, session, reads
        self._read: dict[str, _Answers] = {}
        self._lock = Lock()

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the recorded answer. Raises SummarizerError if the log has none."""
        del is_cancelled
        with self._lock, self._log.snapshot() as snapshot:
            for head in self._heads(snapshot):
                answers = self._read.setdefault(head.name, _Answers())
                answers.read_on(snapshot, head)
                if prompt.digest in answers.by_digest:
                    return answers.by_digest[prompt.digest]
        raise SummarizerError(self.name, f"the log holds no answer to prompt {prompt.digest[:12]}")

    def _heads(self, snapshot: Snapshot) -> Iterator[Head]:
        """Yield the sessions to search, in order."""
        if self._session:
            yield snapshot.head(self._session)
        others = [head for head in snapshot.heads() if head.name != self._session and self._reads(head.name)]
        yield from sorted(others, key=lambda head: head.position, reverse=True)


class _Answers:
    """The recorded answers of a session, as far as it was read."""

    def __init__(self) -> None:
        self.by_digest: dict[str, Answer] = {}
        self._version = 0

    def read_on(self, snapshot: Snapshot, head: Head) -> None:
        for request in _requests(snapshot, head.name, first=self._version + 1):
            if request.answer is not None and request.prompt_digest:
                answer = Answer(text=request.answer, model=request.model or "", is_cut=request.is_cut)
                self.by_digest[request.prompt_digest] = answer
        self._version = head.version


def _requests(snapshot: Snapshot, session: str, *, first: int) -> Iterator[RequestView]:
    for event in events_of_kinds(snapshot, session, _HOLDERS, first=first):
        yield from view_of(event, snapshot).requests
