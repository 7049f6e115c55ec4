"""Set the number of examples that hypothesis tries."""

from __future__ import annotations

from math import ceil

from hypothesis import settings


def examples(in_ci: int) -> int:
    """Return `in_ci` by the profile `ci`, and by another the same share of it as of hypothesis's usual 100."""
    return ceil(in_ci * settings().max_examples / 100)
