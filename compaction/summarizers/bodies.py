"""Build the context that a prompt is sent as, and refuse bodies that an API would refuse."""

from __future__ import annotations

from collections.abc import Callable

from compaction.prompts import Prompt
from compaction.summarizers import SummarizerError
from eventstore.errors import BadInputError
from eventstore.javascript import stringify
from eventstore.records import FORMAT
from projections.context.parts import Context, Fate, Part
from projections.requests.rendered import REQUEST_SIZE, Rendered
from projections.rules import rules_of_format
from projections.settings import ModelSettings


def context_of(prompt: Prompt) -> Context:
    """Return the prefix if any, then the prompt's text as a user message."""
    raw = stringify({"role": "user", "content": prompt.text}).encode()
    said = Part(seq=0, id="prompt", kind="message", role="user", fate=Fate.INJECTED, raw=raw, format=FORMAT)
    return Context(
        session="",
        leaf=None,
        as_of=0,
        rules=rules_of_format(FORMAT).name,
        parts=(*prompt.prefix, said),
        settings=ModelSettings(),
    )


def body_to_send(summarizer: str, render: Callable[[], Rendered]) -> bytes:
    """Return the body of the request that `summarizer` is about to send.

    Raises SummarizerError with the first violation, and how many more there are, if the API would refuse the
    body. One that is only too large counts as too long, because a shorter one would pass.
    """
    try:
        sent = render()
    except BadInputError as error:
        raise SummarizerError(summarizer, f"nothing was sent: {error}", is_sent=False) from None
    if not sent.violations:
        return sent.body
    first, *others = sent.violations
    where = f"{first.path}: " if first.path else ""
    more = f"; and {len(others)} more" if others else ""
    raise SummarizerError(
        summarizer,
        f"nothing was sent, because the API would refuse it: {where}{first.problem} ({first.rule}){more}",
        is_too_long=all(violation.rule == REQUEST_SIZE for violation in sent.violations),
        is_sent=False,
    )
