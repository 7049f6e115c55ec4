"""Whether an API would take a request: each one's rules, checked on the body alone.

Adding an API: a module with a `validate`, a line here, its tests, its docs. A validator imports nothing of
the renderer of its API: each is a second opinion on the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from eventstore.errors import NotFoundError
from projections.validators.anthropic import validate as validate_anthropic
from projections.validators.violation import Violation

Validator = Callable[[bytes | dict[str, Any]], list[Violation]]
"""From a body, as JSON or decoded, to what its API would refuse it for; nothing for one that it takes."""

VALIDATORS: Final[dict[str, Validator]] = {"anthropic": validate_anthropic}


def validator_named(name: str) -> Validator:
    """The validator of an API's requests. Raises NotFoundError."""
    if name not in VALIDATORS:
        raise NotFoundError("validator", name, f"there are: {', '.join(sorted(VALIDATORS))}")
    return VALIDATORS[name]


__all__ = ["VALIDATORS", "Validator", "Violation", "validator_named"]
