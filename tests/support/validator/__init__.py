"""Check a request body against all rules of the Messages API."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from projections.requests.rendered import Violation
from tests.support.validator.body import (
    check_cache,
    check_fields,
    check_settings,
    check_system,
    check_tool_choice,
    check_tools,
)
from tests.support.validator.messages import (
    check_compaction,
    check_errors,
    check_images,
    check_names,
    check_order,
    check_results,
    check_server_tools,
    check_texts,
    check_thinking,
)
from tests.support.validator.schema import ApiRule, checked_messages

__all__ = ["ApiRule", "validate"]


_LARGEST_BODY: Final = 32 * 1024 * 1024
_OF_REQUESTS: Final = (check_fields, check_settings, check_system, check_tools, check_tool_choice)
_OF_MESSAGES: Final = (
    check_order,
    check_texts,
    check_names,
    check_results,
    check_errors,
    check_server_tools,
    check_thinking,
    check_compaction,
    check_images,
)


def validate(body: bytes | dict[str, Any]) -> list[Violation]:
    """Return the violations for which the Messages API would refuse a body, or none.

    Rules between messages apply only if every message has the right shape. Not checked is what only the
    service knows: whether a model, file or signature exists, how many tokens fit, and which models refuse to
    continue a message that the assistant began.
    """
    try:
        encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
        decoded = msgspec.json.decode(encoded)
    except (ValueError, TypeError, RecursionError) as error:
        return [Violation(rule=ApiRule.JSON, path="", problem=f"it cannot be read ({error})")]
    if not isinstance(decoded, dict):
        return [Violation(rule=ApiRule.JSON, path="", problem="it is not an object")]
    found = [violation for check in _OF_REQUESTS for violation in check(decoded)]
    if len(encoded) > _LARGEST_BODY:
        problem = f"it has {len(encoded):,} bytes, more than 32 MB"
        found.append(Violation(rule=ApiRule.REQUEST_SIZE, path="", problem=problem))
    messages, misshapen = checked_messages(decoded.get("messages"))
    if misshapen:
        return found + misshapen
    found += [violation for check in _OF_MESSAGES for violation in check(messages)]
    return found + list(check_cache(decoded, messages))
