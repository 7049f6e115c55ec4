"""Audit a session in which every turn rewrites a result, so that contexts share nearly all."""

from __future__ import annotations

import pytest

from projections.audit.session import audit
from tests.support.rewritten import SESSION, rewritten_turns

TURNS = {"50": 50, "100": 100}


@pytest.mark.parametrize("turns", TURNS)
def test_refold_audits_rewrites(measure, turns):
    found = measure(
        f"audit-rewrites-{turns}", "refold", audit, rewritten_turns(TURNS[turns]), SESSION, rounds=3
    )
    assert len(found.rewrites) == TURNS[turns] - 3
