"""Define the base of a policy's parts, their numbers, and the reasons to compact."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

Reason = Literal["manual", "tool", "overflow", "incomplete", "threshold", "idle"]
"""The cause of a compaction."""


Count = Annotated[int, msgspec.Meta(ge=0)]
"""An integer ≥ 0."""
Positive = Annotated[int, msgspec.Meta(ge=1)]
"""An integer ≥ 1."""
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A share of a whole, from 0 to 1."""


class PolicyPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="part"):
    """The base of a policy's parts: the tag is the name, the fields are the numbers."""


DEFAULT_WINDOW: Final = 200_000
"""The default context window, in tokens."""
DEFAULT_POLICY: Final = "refold"
"""The default policy."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a model in tokens: `window` in all, `output` at most in an answer."""

    window: Positive
    output: Count = 32_000
