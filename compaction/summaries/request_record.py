"""How a summary was asked for, as its record tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def request_record(
    requests: Sequence[dict[str, Any]], *, missing: Sequence[str] = (), left_out: Sequence[str] = ()
) -> dict[str, Any]:
    """Every request, the model that answered last, and what they used together; {} where nobody was asked.

    `missing` are sections that the summary lacks, `left_out` ids of messages that were too long for any prompt.
    """
    if not requests:
        return {}
    usage = [request["usage"] for request in requests if "usage" in request]
    answered = [request for request in requests if "answer" in request and "model" in request]
    record: dict[str, Any] = {"requests": list(requests)}
    record |= {"model": answered[-1]["model"]} if answered else {}
    record |= {"usage": {name: sum(each[name] for each in usage) for name in usage[0]}} if usage else {}
    record |= {"missingSections": list(missing)} if missing else {}
    return record | ({"leftOut": list(left_out)} if left_out else {})
