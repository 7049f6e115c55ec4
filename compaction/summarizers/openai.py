"""Summarize with a model behind a Chat Completions API, such as OpenAI's or ollama's."""

from __future__ import annotations

import os
from typing import Any, Final

import msgspec

from compaction.prompts import Prompt
from compaction.summarizers import Answer, Cancellation, SummarizerError
from compaction.summarizers.bodies import body_to_send, context_of
from compaction.summarizers.refusals import error_message, is_transient, single_line_message
from compaction.summarizers.transport import JsonService
from eventstore.javascript import tolerant_json
from eventstore.views import Usage
from projections.requests.openai import render_chat

_ADDRESS: Final = "https://api.openai.com/v1"
_ADVICE: Final = {
    401: "; check OPENAI_API_KEY",
    403: "; check OPENAI_API_KEY",
    404: "; check the model and OPENAI_BASE_URL, which ends with /v1 on most servers",
}


class OpenAISummarizer:
    """Ask a model by Chat Completions.

    Base URL and key come from the environment (`OPENAI_BASE_URL`, `OPENAI_API_KEY`) unless given; with a base URL, a
    key is optional. Requests that the API would refuse are not sent. `timeout` is in seconds, for each wait. Raises
    SummarizerError without a model or a usable key.
    """

    name = "openai"

    def __init__(
        self, *, model: str, base_url: str | None = None, api_key: str | None = None, timeout: float = 600.0
    ) -> None:
        base_url = base_url or os.environ.get("OPENAI_BASE_URL", "")
        key = os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key
        if not model.strip():
            raise self._unusable("no model is named: give it as in --summarizer openai:gpt-5-mini")
        if not key and not base_url:
            raise self._unusable(
                "no key is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server without"
            )
        if not (key.isascii() and key.isprintable()):
            raise self._unusable(
                "the key has characters that are not allowed in a header; set OPENAI_API_KEY"
            )
        self.model = model
        head, mark, query = (base_url or _ADDRESS).partition("?")
        address = f"{head.rstrip('/')}/chat/completions{mark}{query}"
        self._service = JsonService(self.name, address, timeout=timeout, key=key, advice=_ADVICE)

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the model's answer. Raises SummarizerError, CancelledError."""
        body = body_to_send(
            self.name,
            lambda: render_chat(
                context_of(prompt),
                model=self.model,
                max_tokens=prompt.max_tokens,
                system=prompt.system,
                tools=prompt.tools or None,
                forbids_tools=prompt.forbids_tools,
                schema=prompt.schema,
            ),
        )
        return self._service.post(body, is_cancelled=is_cancelled, read=self._read)

    def _read(self, reply: bytes) -> Answer:
        """Return an answer with text or a regular end. Raises SummarizerError."""
        try:
            answered = tolerant_json(reply)
            if isinstance(answered, dict) and answered.get("error"):
                raise self._refused(answered["error"])
            answer = msgspec.convert(answered, type=_Reply)
            (choice, *_) = answer.choices
        except (msgspec.DecodeError, ValueError):
            raise self._service.failed("did not return an answer of Chat Completions") from None
        usage = answer.usage.counted() if answer.usage else None
        text = choice.message.text
        if choice.error:
            raise self._refused(choice.error, usage)
        if choice.message.refusal or choice.finish_reason == "content_filter":
            raise self._service.failed("the model refused to answer", usage=usage)
        if not text.strip() and choice.message.tool_calls:
            problem = "the model called a tool instead of answering"
            raise self._service.failed(problem, is_transient=True, usage=usage)
        if not text.strip() and choice.finish_reason == "length":
            raise self._service.failed("the model thought until the limit of its answer", usage=usage)
        return Answer(
            text=text, model=answer.model or self.model, usage=usage, is_cut=choice.finish_reason == "length"
        )

    def _refused(self, error: Any, usage: Usage | None = None) -> SummarizerError:
        """Return the error that came with a status of success, as OpenRouter sends it."""
        status = error.get("code") if isinstance(error, dict) else None
        said = error if isinstance(error, str) else error_message(msgspec.json.encode(error).decode())
        return self._service.failed(
            f"failed: {single_line_message(said)}",
            is_transient=isinstance(status, int) and is_transient(status, {}),
            usage=usage,
        )

    def _unusable(self, problem: str) -> SummarizerError:
        return SummarizerError(self.name, problem, is_sent=False)


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "".join(str(part.get("text") or "") for part in self.content or ())


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    error: Any = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None

    def counted(self) -> Usage:
        """Return token counts; the API counts cached tokens among those of the prompt."""
        prompt, output = self.prompt_tokens or 0, self.completion_tokens or 0
        cached = (self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else 0) or 0
        return Usage(input=max(prompt - cached, 0), output=output, cache_read=cached, total=prompt + output)


class _Reply(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None
