"""Provide prompts, a clock that never really waits, and summarizers that use it."""

from __future__ import annotations

from typing import Any

from compaction.prompts import Prompt, live_prompt, serialized_prompt
from compaction.summarizers import Answer, Cancellation, Summarizer
from compaction.summarizers.anthropic import AnthropicSummarizer
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.openai import OpenAISummarizer
from compaction.templates import Template, load_built_in
from tests.support.contexts import context_of
from tests.support.local_http import LocalServer
from tests.support.messages_api import MessagesApi
from tests.support.talk import Json, user

MODEL = "claude-opus-4-5"


def template(name: str = "short") -> Template:
    found = load_built_in(name)
    assert found is not None
    return found


def prompt(name: str = "short", *messages: Json, **options: Any) -> Prompt:
    """A prompt by a template that comes with refold, about these messages."""
    parts = context_of(*(messages or [user("build it")])).parts
    return serialized_prompt(template(name), parts, **{"system": "You sum up.", "max_tokens": 99, **options})


def live(*messages: Json, name: str = "short", **options: Any) -> Prompt:
    """The same behind the real messages."""
    parts = context_of(*messages).parts
    return live_prompt(template(name), parts, **{"system": "You sum up.", "max_tokens": 99, **options})


def claude(api: MessagesApi | str, **options: Any) -> AnthropicSummarizer:
    """The real client, at a server on this machine."""
    url = api if isinstance(api, str) else api.url
    return AnthropicSummarizer(**{"base_url": url, "api_key": "key", "model": MODEL, **options})


def chat(api: LocalServer | str, **options: Any) -> OpenAISummarizer:
    """Chat Completions at a server on this machine."""
    url = api if isinstance(api, str) else api.url
    return OpenAISummarizer(**{"base_url": url, "api_key": "key", "model": MODEL, **options})


def never() -> bool:
    return False


class Clock:
    """Moves on when somebody waits; `waits` are for how long, in seconds."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def seconds(self) -> float:
        return sum(self.waits)

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)


def chain(*summarizers: Summarizer, clock: Clock | None = None, **options: Any) -> SummarizerChain:
    """Return a chain that asks these summarizers in order, and never really waits."""
    clock = clock or Clock()
    return SummarizerChain(
        summarizers=summarizers, **{"seconds": clock.seconds, "wait": clock.wait, **options}
    )


class Saying:
    """Gives its answers in turn, the last one again and again; an error among them is raised."""

    def __init__(self, *answers: str | Answer | Exception, name: str = "saying") -> None:
        self.name = name
        self._answers = list(answers)
        self.prompts: list[Prompt] = []

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        del is_cancelled
        self.prompts.append(prompt)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Answer) else Answer(text=answer, model="m")
