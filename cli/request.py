"""A context as a request to an API: its body, and what is told of its repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from cli.output import echo_json, echo_json_bytes, echo_note, echo_problem
from cli.texts import text_of

if TYPE_CHECKING:
    from projections.context import Context
    from projections.renderers.anthropic import Rendered
    from projections.validators import Violation

_HINTS: Final = {
    "messages": "nothing is said at this leaf: choose another with --leaf",
    "model": "name one with --model",
}


def rendered_for_anthropic(
    context: Context,
    *,
    model: str | None,
    max_tokens: int,
    system: BinaryIO | None,
    tools: BinaryIO | None,
    cache_breakpoints: int,
) -> Rendered:
    """The body of a Messages API request, with a system prompt and tools from files. Raises BadInputError."""
    from projections.renderers.anthropic import render

    return render(
        context,
        model=model,
        max_tokens=max_tokens,
        system=text_of(system) if system else None,
        tools=tools.read() if tools else None,
        cache_breakpoints=cache_breakpoints,
    )


def echo_request(rendered: Rendered, violations: list[Violation], *, as_json: bool) -> None:
    """The body on stdout, unless its API would refuse it; on stderr a line for each repair, and what is wrong."""
    if as_json:
        import msgspec

        body = msgspec.Raw(rendered.body)
        echo_json({"body": body, "repairs": rendered.repairs, "violations": violations})
        return
    for repair in rendered.repairs:
        echo_note(f"{repair.event}: {repair.action} ({repair.rule})")
    for violation in violations:
        where = f"{violation.path}: " if violation.path else ""
        echo_problem(
            f"the API would refuse this request: {where}{violation.problem}", _HINTS.get(violation.rule, "")
        )
    if not violations:
        echo_json_bytes(rendered.body)
