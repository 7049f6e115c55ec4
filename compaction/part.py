"""Base of what a policy is composed of."""

from __future__ import annotations

import msgspec


class PolicyPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="part"):
    """A part of a policy: its name is its tag, its numbers are its fields, what it does is a method."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a model takes, in tokens: `window` in all, `output` at most in an answer."""

    window: int
    output: int = 32_000
