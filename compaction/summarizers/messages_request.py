"""A prompt as a request to Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.prompts import Prompt
from compaction.summarizers.summarizer import SummarizerError
from eventstore.errors import BadInputError
from eventstore.javascript import stringify
from projections.context.parts import Context, Fate, Part
from projections.requests import Request, request
from projections.requests.anthropic.validator import Rule
from projections.requests.base import Violation
from projections.settings import Settings


def messages_request(prompt: Prompt, model: str, *, is_cached: bool = False) -> Request:
    """The request, as it is sent: the prompt's text is the last user's message, behind the prefix if there is one.

    A live prefix is what the context's own rendering begins with, byte for byte. `is_cached`: the provider is to
    read it from its cache, without marks in it. Raises BadInputError for tools that are no JSON list of objects.
    """
    return request(
        Context(
            session="",
            leaf=None,
            as_of=0,
            rules="pi",
            parts=(*prompt.prefix, _said(prompt.text)),
            settings=Settings(),
        ),
        model=model,
        max_tokens=prompt.max_tokens,
        system=prompt.system if prompt.system.strip() else None,
        tools=prompt.tools or None,
        forbids_tools=prompt.forbids_tools,
        caches_messages=is_cached,
        streams=True,
    )


def body_to_send(prompt: Prompt, model: str, *, summarizer: str, is_cached: bool = False) -> bytes:
    """The body of the request that `summarizer` is about to send, which its API would take.

    Raises SummarizerError for any other, so that nothing is sent: it names the first violation, and how many more
    there are. One that is only too large is too long: a shorter one would pass.
    """
    try:
        asked = messages_request(prompt, model, is_cached=is_cached)
    except BadInputError as error:
        raise SummarizerError(summarizer, f"nothing was sent: {error}") from None
    if asked.violations:
        is_too_long = all(violation.rule == Rule.REQUEST_SIZE for violation in asked.violations)
        raise SummarizerError(summarizer, _refusal(asked.violations), is_too_long=is_too_long)
    return asked.body


def _refusal(violations: Sequence[Violation]) -> str:
    first, *others = violations
    where = f"{first.path}: " if first.path else ""
    more = f"; and {len(others)} more" if others else ""
    return f"nothing was sent, for the API would refuse it: {where}{first.problem} ({first.rule}){more}"


def _said(text: str) -> Part:
    raw = stringify({"role": "user", "content": text}).encode()
    return Part(seq=0, id="prompt", kind="message", role="user", fate=Fate.INJECTED, raw=raw, utf16=0, utf8=0)
