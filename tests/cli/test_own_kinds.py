"""The commands for what a person may have of their own: what is asked of them."""

from __future__ import annotations

import click
import pytest

from tests.cli.running import Refold


@pytest.mark.parametrize("kind", ["policies", "templates"])
@pytest.mark.parametrize("action", ["show", "new", "check"])
def test_what_is_about_one_needs_its_name(refold: Refold, kind: str, action: str) -> None:
    refold.refused(click.UsageError, kind, action, code=2)


@pytest.mark.parametrize("kind", ["policies", "templates"])
def test_where_one_begins_from_goes_with_a_new_one(refold: Refold, kind: str) -> None:
    refold.refused(click.UsageError, kind, "show", "pi", "--from", "pi", code=2)
