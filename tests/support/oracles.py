"""Ask the oracles of the three APIs about the bodies of a context."""

from __future__ import annotations

from projections.context.parts import Context
from projections.requests.anthropic import render
from projections.requests.openai import render_chat, render_responses
from tests.support.openai_api import problems_of_chat, problems_of_responses
from tests.support.validator import validate


def check_bodies(context: Context) -> None:
    """Assert that each API takes a context's body, but for the violations that the renderer names.

    No repair can mend an empty conversation; nothing else may be a violation.
    """
    rendered = render(context, model="claude", cache_breakpoints=4)
    broken = [each.rule for each in validate(rendered.body)]
    assert broken == [each.rule for each in rendered.violations]
    assert broken in ([], ["messages"])
    chat, responses = render_chat(context, model="m"), render_responses(context, model="m")
    assert problems_of_chat(chat.body) == ["messages are empty"] * len(chat.violations)
    assert problems_of_responses(responses.body) == ["input is empty"] * len(responses.violations)
