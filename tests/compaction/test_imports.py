"""Check that importing a part of compaction loads no more than needed."""

from __future__ import annotations

import subprocess
import sys


def test_who_undoes_loads_neither_policies_nor_summarizers():
    heavy = (
        "compaction.compactor",
        "compaction.policy",
        "compaction.summarizers",
        "compaction.templates",
    )
    assert (
        ran(
            f"import sys, compaction.branching.undo; print([each for each in {heavy} if each in sys.modules])"
        )
        == "[]"
    )


def ran(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()
