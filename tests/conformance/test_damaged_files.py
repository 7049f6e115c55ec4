"""Session files with damaged lines, of each harness: they get an answer, and no good record is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.damage import SUBJECTS, check, damaged
from tests.support.examples import examples


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_damage_costs_no_record_but_the_damaged_ones(name: str, tmp_path: Path) -> None:
    for number in range(examples(300)):
        seed = f"suite:{number}"
        damage = damaged(random.Random(seed), SUBJECTS[name])
        try:
            check(damage, tmp_path, name)
        except Exception as error:
            error.add_note(f"{name} {seed}: {damage.done}")
            raise
