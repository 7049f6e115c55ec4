"""Import damaged files of every harness, and run commands on what came of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from random import Random

from bench.faults import Outcome
from eventstore import open_store
from eventstore.errors import RefoldError
from eventstore.files.importing import import_sessions
from tests.cli.running import Refold
from tests.cli.test_damaged_sessions import reading
from tests.support.damage import SUBJECTS, check, damaged
from tests.support.opencode_damage import check_database, check_export

TRIES = 300


def imports(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Import damaged files: no traceback, no good record lost, and the file comes out byte for byte."""
    for _ in range(TRIES):
        name = dice.choice([*SUBJECTS, "opencode"])
        seed = dice.random()
        try:
            if name == "opencode":
                (check_database if dice.random() < 0.1 else check_export)(Random(seed), folder)
            else:
                check(damaged(Random(seed), SUBJECTS[name]), folder, name)
        except Exception as error:  # noqa: BLE001  the run goes on, and tells all failures
            yield Outcome(of=name, problem=f"{seed}: {type(error).__name__}: {error}"[:300])
        else:
            yield Outcome(of=name)


def commands(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Run one random reading command on each damaged session: none ends with a bug."""
    file = folder / "session.jsonl"
    for number in range(TRIES // 5):
        name = dice.choice([*SUBJECTS])
        damage = damaged(Random(dice.random()), SUBJECTS[name])
        file.write_bytes(damage.content)
        refold = Refold(folder / f"store-{number}")
        try:
            with open_store(refold.store) as log:
                session = import_sessions(log, file)[0].id
        except RefoldError:
            continue
        arguments = dice.choice([*reading(session)])
        try:
            with chdir(folder):
                ended = refold(*arguments, code=None)
        except Exception as error:  # noqa: BLE001  a fault is raised
            yield Outcome(of=name, problem=f"{arguments[0]}: {type(error).__name__}: {error}"[:300])
        else:
            yield Outcome(of=name, problem=f"{arguments}: {ended.errors}"[:300] if ended.code == 70 else "")
