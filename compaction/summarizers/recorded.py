"""Replay recorded summaries, for exact re-runs without a model."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Final

import msgspec

from compaction.prompts import Prompt
from compaction.summarizers import Answer, Cancellation, SummarizerError
from compaction.summarizers.chain import strip_tag
from eventstore.harnesses import node_of
from eventstore.log import EventLog, Head, Snapshot
from eventstore.node import RequestView
from eventstore.paths import events_of_kinds

_HOLDERS: Final = frozenset({"compaction", "branch_summary", "attempt", "decision", "custom_message", "note"})
"""Kinds of events whose records may contain requests."""


class AnswerSource(msgspec.Struct, frozen=True, kw_only=True):
    """A model behind an address, "" for a summarizer's own ones."""

    summarizer: str
    model: str
    endpoint: str

    def gave(self, request: RequestView) -> bool:
        """Return True if a request was sent there."""
        of_request = request.summarizer, request.model or "", request.endpoint
        return of_request == (self.summarizer, self.model, self.endpoint)


class RecordedSummarizer:
    """Answer from a log by the prompt's digest: from `session` first, then the others.

    The newest answer of `session` wins, else that of the most recently written session. Other sessions are
    read only if needed, and only once, and only if their names begin with `prefix`. Only requests to `source` count,
    if it is given.
    """

    name = "recorded"
    is_local = True

    def __init__(
        self,
        log: EventLog | Snapshot,
        *,
        session: str = "",
        prefix: str = "",
        source: AnswerSource | None = None,
    ) -> None:
        self._log, self._session, self._prefix, self._source = log, session, prefix, source
        self._read: dict[str, _Answers] = {}
        self._lock = Lock()

    @property
    def identity(self) -> tuple[object, ...]:
        """The name, and the sessions that it reads with their digests."""
        with self._log.snapshot() as snapshot:
            heads = [(head.name, head.digest) for head in self._heads(snapshot)]
        return self.name, self._session, self._source, heads

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the recorded answer. Raises SummarizerError if the log has none that is not empty."""
        del is_cancelled
        problem = "the log holds no answer to this prompt"
        with self._lock, self._log.snapshot() as snapshot:
            for head in self._heads(snapshot):
                answers = self._read.setdefault(head.name, _Answers())
                answers.read_on(snapshot, head, self._source)
                answer = answers.by_digest.get(prompt.digest)
                if answer is not None and strip_tag(answer.text, prompt.template.strip):
                    return answer
                if answer is not None:
                    problem = "the answer that was stored earlier is empty"
        raise SummarizerError(self.name, problem)

    def _heads(self, snapshot: Snapshot) -> Iterator[Head]:
        """Yield the sessions to search, in order."""
        if self._session:
            yield snapshot.head(self._session)
        others = [
            head
            for head in snapshot.heads()
            if head.name != self._session and head.name.startswith(self._prefix)
        ]
        yield from sorted(others, key=lambda head: head.position, reverse=True)


class _Answers:
    """The recorded answers of a session, as far as it was read."""

    def __init__(self) -> None:
        self.by_digest: dict[str, Answer] = {}
        self._version = 0

    def read_on(self, snapshot: Snapshot, head: Head, source: AnswerSource | None) -> None:
        for request in _requests(snapshot, head.name, first=self._version + 1):
            if source is not None and not source.gave(request):
                continue
            if request.answer is not None and request.prompt_digest:
                answer = Answer(text=request.answer, model=request.model or "", is_cut=request.is_cut)
                self.by_digest[request.prompt_digest] = answer
        self._version = head.version


def _requests(snapshot: Snapshot, session: str, *, first: int) -> Iterator[RequestView]:
    for event in events_of_kinds(snapshot, session, _HOLDERS, first=first):
        if event.is_own:
            yield from node_of(event, snapshot).requests
