"""A PostgreSQL server is killed under load, and fails over to its replica: no acknowledged append is lost.

tests/support/failing_servers.py does the same for long.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.failing_servers import fail_often
from tests.support.postgres import missing, new_folder

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found by /proc")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that another user may enter."""
    made = new_folder()
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.mark.long
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_no_acknowledged_append_is_lost_and_no_chain_has_a_gap(folder: Path) -> None:
    before = fail_often(folder, kills=2, failovers=1, seed=7)
    # The second run goes on with what the first has left.
    after = fail_often(folder, kills=3, failovers=1, seed=7)
    assert all(after[name] > count > 0 for name, count in before.items())
