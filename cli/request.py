"""How a request to an API is shown: its body, its repairs, what its API would refuse it for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.output import echo_json, echo_json_bytes, echo_note, echo_problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from projections.renderers.rendering import Repair
    from projections.requests import Request

_HINTS: Final = {
    "messages": "nothing is said at this leaf: choose another with --leaf",
    "model": "name one with --model",
}


def echo_request(request: Request, *, as_json: bool, is_full: bool) -> None:
    """The body on stdout, unless its API would refuse it; on stderr its repairs, and what is wrong.

    Repairs are a line for each rule with how often it was applied, or in full a line each.
    """
    if as_json:
        import msgspec

        body = msgspec.Raw(request.body)
        echo_json({"body": body, "repairs": request.repairs, "violations": request.violations})
        return
    for line in _each(request.repairs) if is_full else _counts(request.repairs):
        echo_note(line)
    for violation in request.violations:
        where = f"{violation.path}: " if violation.path else ""
        echo_problem(
            f"the API would refuse this request: {where}{violation.problem}", _HINTS.get(violation.rule, "")
        )
    if not request.violations:
        echo_json_bytes(request.body)


def _each(repairs: Sequence[Repair]) -> Iterator[str]:
    for repair in repairs:
        yield f"{repair.event}: {repair.action} ({repair.rule})"


def _counts(repairs: Sequence[Repair]) -> Iterator[str]:
    """A line for each rule, with one of what it did where it did it once."""
    events: dict[str, list[Repair]] = {}
    for repair in repairs:
        events.setdefault(repair.rule, []).append(repair)
    for rule, of_rule in events.items():
        first, others = of_rule[0], len(of_rule) - 1
        more = f", and {others:,} more like it: --full lists them" if others else ""
        yield f"{first.event}: {first.action} ({rule}){more}"
