"""How each harness folds entries into a context: its rules, as data.

Adding a harness: a module with a `RULES`, a line here, its tests, its docs.
"""

from __future__ import annotations

from typing import Final

from eventstore.errors import NotFoundError
from projections.rules import pi
from projections.rules.base import HarnessRules

HARNESS_RULES: Final[dict[str, HarnessRules]] = {rules.name: rules for rules in (pi.RULES,)}


def rules_named(name: str) -> HarnessRules:
    """The rules of a harness. Raises NotFoundError."""
    if name not in HARNESS_RULES:
        raise NotFoundError("harness rules", name, f"there are: {', '.join(sorted(HARNESS_RULES))}")
    return HARNESS_RULES[name]
