"""How a request to an API is shown: its body, its repairs, what its API would refuse it for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.output import echo_json, echo_json_bytes, echo_note, echo_problem

if TYPE_CHECKING:
    from projections.requests import Request

_HINTS: Final = {
    "messages": "nothing is said at this leaf: choose another with --leaf",
    "model": "name one with --model",
}


def echo_request(request: Request, *, as_json: bool) -> None:
    """The body on stdout, unless its API would refuse it; on stderr a line for each repair, and what is wrong."""
    if as_json:
        import msgspec

        body = msgspec.Raw(request.body)
        echo_json({"body": body, "repairs": request.repairs, "violations": request.violations})
        return
    for repair in request.repairs:
        echo_note(f"{repair.event}: {repair.action} ({repair.rule})")
    for violation in request.violations:
        where = f"{violation.path}: " if violation.path else ""
        echo_problem(
            f"the API would refuse this request: {where}{violation.problem}", _HINTS.get(violation.rule, "")
        )
    if not request.violations:
        echo_json_bytes(request.body)
