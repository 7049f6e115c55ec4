"""A summarizer that says what a test wants, and sessions that are due for a compaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from compaction.compactor import Compactor
from compaction.cuts import KeepRecent
from compaction.part import Limits
from compaction.policy.model import Policy, Prompting
from compaction.prompts import Prompt
from compaction.summarizers import Answer, Cancellation
from compaction.summarizers.chain import SummarizerChain
from compaction.triggers import Threshold
from eventstore.records import record_of
from eventstore.views import Usage
from projections.tokens import counter
from tests.support.events import events
from tests.support.talk import Story, assistant, user

SMALL = Policy(name="small", trigger=Threshold(tokens=50), cut=KeepRecent(tokens=20))
"""Compacts over 50 tokens, and keeps 20."""


class Scripted:
    """Answers with all sections that are asked for, or as it is told; `prompts` are those that it was sent."""

    name = "scripted"

    def __init__(self, answer: Callable[[Prompt], str] | None = None) -> None:
        self._answer = answer or complete
        self.prompts: list[Prompt] = []

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        del is_cancelled
        self.prompts.append(prompt)
        return Answer(text=self._answer(prompt), model="scribe", usage=Usage(input=90, output=10, total=100))


def complete(prompt: Prompt) -> str:
    return "\n".join(f"## {section}" for section in prompt.template.sections) or "In short."


def compactor(summarizer: Any = None, policy: Policy = SMALL, **fields: Any) -> Compactor:
    chain = SummarizerChain(summarizers=[summarizer or Scripted()], wait=lambda _: None)
    return Compactor(
        policy=policy, chain=chain, limits=Limits(window=200_000), tokens=counter(policy.counter), **fields
    )


def policy(**changes: Any) -> Policy:
    return msgspec.structs.replace(SMALL, **changes)


def prompting(**fields: Any) -> Prompting:
    return Prompting(**fields)


def long(tokens: int) -> str:
    return "x" * 4 * tokens


def turns(story: Story, *sizes: int) -> list[str]:
    """A user's message and an answer of so many tokens each; the ids."""
    return [name for size in sizes for name in story.says(user(long(size)), assistant(long(size)))]


def kinds(story: Story) -> list[str]:
    """The kinds of a session's events, oldest first."""
    return [event.kind for event in events(story.log, story.session)]


def record(story: Story, kind: str = "compaction") -> Any:
    """Return the record of the newest event of a kind."""
    event = next(event for event in reversed(events(story.log, story.session)) if event.kind == kind)
    return record_of(kind, event.body)
