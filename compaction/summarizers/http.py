"""Summarize with the user's own HTTP service."""

from __future__ import annotations

import msgspec

from compaction.prompts import Prompt, serialize, wrap_in_tag
from compaction.summarizers import Answer, Cancellation
from compaction.summarizers.transport import JsonService
from eventstore.javascript import stringify, tolerant_json


class HttpSummarizer:
    """POST `{"systemPrompt", "prompt"}` to an address; read `summary` from the JSON answer.

    This is oh-my-pi's `remoteEndpoint`. A live prefix is serialized into the prompt. `timeout` is in seconds,
    for each wait.
    """

    name = "http"

    def __init__(self, endpoint: str, *, timeout: float = 600.0) -> None:
        self.endpoint, self._service = endpoint, JsonService(self.name, endpoint, timeout=timeout)

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the service's answer. Raises SummarizerError, CancelledError."""
        sent = stringify({"systemPrompt": prompt.system, "prompt": text_of_prompt(prompt)}).encode()
        return self._service.post(sent, is_cancelled=is_cancelled, read=self._read)

    def _read(self, reply: bytes) -> Answer:
        try:
            reply.decode()
            answered = tolerant_json(reply)
        except UnicodeDecodeError:
            raise self._service.failed('did not return JSON with a text "summary": it is not UTF-8') from None
        except msgspec.DecodeError:
            answered = None
        summary = answered.get("summary") if isinstance(answered, dict) else None
        if not isinstance(summary, str):
            raise self._service.failed('did not return JSON with a text "summary"')
        return Answer(text=summary, model=self.name)


def text_of_prompt(prompt: Prompt) -> str:
    """Return a whole prompt as one text."""
    if not prompt.prefix:
        return prompt.text
    return f"{wrap_in_tag('conversation', serialize(prompt.prefix))}\n\n{prompt.text}"
