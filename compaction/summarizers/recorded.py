"""Summaries that were made before: exact re-runs without a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.prompts import Prompt
from compaction.summarizers.summarizer import Answer, Cancellation, SummarizerError
from eventstore.formats.pi_entry import tolerant_json
from eventstore.frame import body_of, header_of, kind_of
from eventstore.log import EventLog, Snapshot

_HOLDS_REQUESTS = frozenset({"compaction", "branch_summary", "attempt"})


class RecordedSummarizer:
    """Answers from a log, by the digest of the prompt: of one session, or of all."""

    name = "recorded"

    def __init__(self, log: EventLog | Snapshot, *, session: str | None = None) -> None:
        with log.snapshot() as snapshot:
            names = [session] if session else [head.name for head in snapshot.heads()]
            self._answers = {
                str(request["promptDigest"]): Answer(
                    text=request["answer"], model=str(request.get("model", ""))
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
        if kind_of(frame, header_of(frame)) in _HOLDS_REQUESTS:
            request = tolerant_json(bytes(body_of(frame))).get("request")
            made = request.get("requests") if isinstance(request, dict) else None
            yield from (each for each in made if isinstance(each, dict)) if isinstance(made, list) else ()
