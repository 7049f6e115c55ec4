"""Summaries that were made before: exact re-runs without a model."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any, Final

from compaction.prompts import Prompt
from compaction.summarizers import Answer, Cancellation, SummarizerError
from eventstore.javascript import tolerant_json
from eventstore.log import EventLog, Head, Snapshot
from eventstore.paths import events_of_kinds

_HOLDERS: Final = {
    "compaction": "request",
    "branch_summary": "request",
    "attempt": "request",
    "decision": "numbers",
    "custom_message": "details",
}
"""Kinds of records that tell of requests, and the field in which they do."""


class RecordedSummarizer:
    """Answers from a log, by the digest of the prompt: of `session` first, then of the others.

    Where the same prompt was answered several times, the newest answer of `session` counts, else that of the session
    that was written to last. Other sessions are read only for a prompt that the ones before do not answer; what was
    read once is not read again.
    """

    name = "recorded"

    def __init__(self, log: EventLog | Snapshot, *, session: str = "") -> None:
        self._log, self._session = log, session
        self._read: dict[str, _Answers] = {}
        self._lock = Lock()

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """The answer that the same prompt had. Raises SummarizerError where the log has none."""
        del is_cancelled
        with self._lock, self._log.snapshot() as snapshot:
            for head in self._heads(snapshot):
                answers = self._read.setdefault(head.name, _Answers())
                answers.read_on(snapshot, head)
                if prompt.digest in answers.by_digest:
                    return answers.by_digest[prompt.digest]
        raise SummarizerError(self.name, f"the log holds no answer to prompt {prompt.digest[:12]}")

    def _heads(self, snapshot: Snapshot) -> Iterator[Head]:
        """The sessions to look in, in order."""
        if self._session:
            yield snapshot.head(self._session)
        others = [head for head in snapshot.heads() if head.name != self._session]
        yield from sorted(others, key=lambda head: head.position, reverse=True)


class _Answers:
    """The answers that a session holds, as far as it was read."""

    def __init__(self) -> None:
        self.by_digest: dict[str, Answer] = {}
        self._version = 0

    def read_on(self, snapshot: Snapshot, head: Head) -> None:
        for request in _requests(snapshot, head.name, first=self._version + 1):
            text, digest = request.get("answer"), request.get("promptDigest")
            if isinstance(text, str) and isinstance(digest, str):
                model, is_cut = str(request.get("model", "")), request.get("isCut") is True
                self.by_digest[digest] = Answer(text=text, model=model, is_cut=is_cut)
        self._version = head.version


def _requests(snapshot: Snapshot, session: str, *, first: int) -> Iterator[dict[str, Any]]:
    for event in events_of_kinds(snapshot, session, _HOLDERS, first=first):
        told = tolerant_json(event.body).get(_HOLDERS[event.kind])
        made = told.get("requests") if isinstance(told, dict) else None
        yield from (each for each in made if isinstance(each, dict)) if isinstance(made, list) else ()
