"""Sessions with many calls, and what rewrites plan for them."""

from __future__ import annotations

from typing import Any

from compaction.sized_context import sized
from projections.context.build import build_context
from projections.tokens import counter
from tests.support.talk import Story, assistant, call, result

TOKENS = counter("utf16/4")


def long(tokens: int) -> str:
    return "x" * 4 * tokens


def calls(
    story: Story, *sizes: int, tool: str = "bash", is_error: bool = False, **arguments: Any
) -> list[str]:
    """One call after the other, with results of so many tokens; the ids of the results."""
    made = []
    for size in sizes:
        with story.log.snapshot() as snapshot:
            number = snapshot.head("s").version if list(snapshot.heads()) else 0
        name = f"call-{number}"
        said = result(long(size), tool=tool, call_id=name, is_error=is_error)
        made.append(story.says(assistant(call(tool, name, **arguments)), said)[1])
    return made


def planned(story: Story, part: Any, **how: Any) -> dict[str, str]:
    """From the entries that a part would show otherwise to what it would show."""
    found = sized("s", build_context(story.log, "s").parts, TOKENS, **how)
    return {shown.target: shown.text for shown in part.plan(found)}


def why_nothing(story: Story, part: Any, **how: Any) -> str:
    """Return a part's reason to rewrite nothing; it must plan no rewrite."""
    found = sized("s", build_context(story.log, "s").parts, TOKENS, **how)
    assert part.plan(found) == []
    return str(part.why_nothing(found))
