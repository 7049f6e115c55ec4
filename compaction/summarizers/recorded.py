"""Summaries that were made before: exact re-runs without a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compaction.prompts import Prompt
from compaction.summarizers.summarizer import Answer, Cancellation, SummarizerError
from eventstore.formats.pi_entry import tolerant_json
from eventstore.frame import body_of, header_of, kind_of
from eventstore.log import EventLog, Snapshot

_HOLDERS: Final = {
    "compaction": "request",
    "branch_summary": "request",
    "attempt": "request",
    "decision": "numbers",
    "custom_message": "details",
}
"""Kinds of records that tell of requests, and the field in which they do."""


class RecordedSummarizer:
    """Answers from a log, by the digest of the prompt: of one session, or of all.

    Where the same prompt was answered several times, the newest answer of the last session counts.
    """

    name = "recorded"

    def __init__(self, log: EventLog | Snapshot, *, session: str | None = None) -> None:
        with log.snapshot() as snapshot:
            names = [session] if session else [head.name for head in snapshot.heads()]
            self._answers = {
                str(request["promptDigest"]): Answer(
                    text=request["answer"],
                    model=str(request.get("model", "")),
                    is_cut=request.get("isCut") is True,
                )
                for name in names
                for request in _requests(snapshot, name)
                if isinstance(request.get("answer"), str) and "promptDigest" in request
            }

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """The answer that the same prompt had. Raises SummarizerError where the log has none."""
        del is_cancelled
        answer = self._answers.get(prompt.digest)
        if answer is None:
            raise SummarizerError(self.name, f"the log holds no answer to prompt {prompt.digest[:12]}")
        return answer


def _requests(snapshot: Snapshot, session: str) -> Iterator[dict[str, Any]]:
    for frame in snapshot.frames(session):
        kind = kind_of(frame, header_of(frame))
        if kind in _HOLDERS:
            told = tolerant_json(bytes(body_of(frame))).get(_HOLDERS[kind])
            made = told.get("requests") if isinstance(told, dict) else None
            yield from (each for each in made if isinstance(each, dict)) if isinstance(made, list) else ()
